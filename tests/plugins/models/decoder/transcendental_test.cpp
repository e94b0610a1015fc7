// The exponential and the error function of floats against the C library's in float64.
#include "models/decoder/transcendental.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "models/decoder/activation_kernels.hpp"
#include "models/decoder/softmax_kernels.hpp"

namespace quench::test {

namespace {

// |got - wanted| in units of the last place of a float.
double units(float got, double wanted) {
  int exponent = 0;
  std::frexp(wanted, &exponent);
  return std::abs(static_cast<double>(got) - wanted) /
         std::ldexp(1.0, std::max(exponent - 24, -149));
}

}  // namespace

TEST_CASE("exponential: it is within a unit of the last place", "[models][decoder]") {
  double worst = 0;
  for (double x = -103.9; x < 88.7; x += 0.00137) {
    const auto at = static_cast<float>(x);
    worst = std::max(worst, units(decoder::exponential(at), std::exp(static_cast<double>(at))));
  }
  CHECK(worst < 1.01);
  CHECK(decoder::exponential(0.0F) == 1.0F);
  CHECK(decoder::exponential(-std::numeric_limits<float>::infinity()) == 0.0F);
  CHECK(std::isinf(decoder::exponential(std::numeric_limits<float>::infinity())));
  CHECK(std::isnan(decoder::exponential(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("error function: it is within two units of the last place", "[models][decoder]") {
  double worst = 0;
  for (double x = -5.5; x < 5.5; x += 0.0000937) {
    const auto at = static_cast<float>(x);
    worst = std::max(worst, units(decoder::error_function(at), std::erf(static_cast<double>(at))));
  }
  CHECK(worst < 2);
  CHECK(decoder::error_function(std::numeric_limits<float>::infinity()) == 1.0F);
  CHECK(decoder::error_function(-std::numeric_limits<float>::infinity()) == -1.0F);
  CHECK(std::isnan(decoder::error_function(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("kernels: an element's bits do not depend on its place", "[models][decoder]") {
  constexpr size_t kCount = 67;
  std::vector<float> x(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    x[i] = std::sin(static_cast<float>(i)) * 7;
  }
  std::vector<float> whole(kCount);
  std::vector<float> part(kCount);
  decoder::kernel::gelu(kCount, x.data(), whole.data());
  for (size_t first : {1, 5, 16, 60}) {
    decoder::kernel::gelu(kCount - first, x.data() + first, part.data());
    CHECK(std::equal(part.begin(), part.end() - static_cast<std::ptrdiff_t>(first),
                     whole.begin() + static_cast<std::ptrdiff_t>(first)));
  }
}

TEST_CASE("kernels: a softmax has its sum, and -infinity has no share", "[models][decoder]") {
  std::vector<float> row = {1, 2, -std::numeric_limits<float>::infinity(), 80, 79, -5};
  const float peak = decoder::kernel::largest(row.data(), row.size());
  CHECK(peak == 80);
  const double sum = decoder::kernel::exponentiate(row.data(), peak, row.size());
  CHECK(row[2] == 0);
  CHECK(sum == Approx(1 + std::exp(-1.0)).epsilon(1e-6));
}

}  // namespace quench::test
