#include "train/gradient_norm.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

using quench::gradient_norm;

TEST_CASE("gradient norm: it is the root of the sum of squares", "[train]") {
  CHECK(gradient_norm(std::vector<float>{3, -4}, 1) == 5);
  CHECK(gradient_norm(std::vector<float>(), 1) == 0);
  CHECK(gradient_norm(std::vector<float>(300'000, 2.0F), 1) == std::sqrt(4.0 * 300'000));
}

// In float32 the small numbers would be lost against the large one.
TEST_CASE("gradient norm: squares are summed in float64", "[train]") {
  std::vector<float> values(1'000'001, 1e-4F);
  values[0] = 1;
  CHECK(gradient_norm(values, 1) == Approx(std::sqrt(1 + 1e-8 * 1e6)).epsilon(1e-7));
}

TEST_CASE("gradient norm: it has the same bits for any number of threads", "[train]") {
  std::vector<float> values(1'234'567);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * 2654435761u % 1000003) * 1e-3F;
  }
  const double one = gradient_norm(values, 1);
  CHECK(one == gradient_norm(values, 2));
  CHECK(one == gradient_norm(values, 3));
}

TEST_CASE("gradient norm: what is not finite shows", "[train]") {
  std::vector<float> values(100'000, 1);
  values[99'999] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(gradient_norm(values, 2)));
}
