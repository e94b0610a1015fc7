#include "transforms/rotation/orthogonal.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "quench/kit/error.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

// R as rows, by applying it to unit vectors.
std::vector<std::vector<double>> matrix_of(const transforms::Orthogonal& rotation) {
  std::vector<std::vector<double>> rows;
  for (int64_t i = 0; i < rotation.size(); ++i) {
    rows.emplace_back(static_cast<size_t>(rotation.size()));
    rows.back()[static_cast<size_t>(i)] = 1;
    rotation.apply(rows.back().data());
  }
  return rows;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

}  // namespace

TEST_CASE("a rotation is orthogonal, whatever its size", "[transforms][rotation]") {
  for (const int64_t size : {1, 2, 3, 12, 32, 96, 128}) {
    for (const bool keeps_mean : {false, true}) {
      const auto rows = matrix_of(transforms::Orthogonal(size, keeps_mean, "test"));
      for (size_t i = 0; i < rows.size(); ++i) {
        for (size_t j = 0; j <= i; ++j) {
          CHECK(dot(rows[i], rows[j]) == Approx(i == j ? 1.0 : 0.0).margin(1e-12));
        }
      }
    }
  }
}

TEST_CASE("a rotation that keeps the mean maps ones to ones", "[transforms][rotation]") {
  for (const int64_t size : {1, 3, 12, 96, 128}) {
    std::vector<double> ones(static_cast<size_t>(size), 1.0);
    transforms::Orthogonal(size, true, "test").apply(ones.data());
    for (const double value : ones) {
      CHECK(value == Approx(1.0).epsilon(1e-12));
    }
  }
}

// One channel alone becomes many of about equal size: of 128 normal values none is above 5 /
// sqrt(128).
TEST_CASE("a rotation spreads a channel over all others", "[transforms][rotation]") {
  for (const auto& row : matrix_of(transforms::Orthogonal(128, true, "test"))) {
    for (const double value : row) {
      CHECK(std::fabs(value) < 5 / std::sqrt(128.0));
    }
  }
}

TEST_CASE("a rotation differs from stream to stream, and not from time to time",
          "[transforms][rotation]") {
  const auto first = matrix_of(transforms::Orthogonal(32, false, "a"));
  CHECK(first == matrix_of(transforms::Orthogonal(32, false, "a")));
  CHECK(first != matrix_of(transforms::Orthogonal(32, false, "b")));
}

TEST_CASE("a rotation of a width with a large odd factor is refused", "[transforms][rotation]") {
  CHECK_THROWS_AS(transforms::Orthogonal(2 * 67, false, "test"), kit::Error);
}

}  // namespace quench::test
