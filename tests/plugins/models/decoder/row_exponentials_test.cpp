#include "models/decoder/row_exponentials.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "tests/support/skip.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

matrix::Isa each_isa() {
  return static_cast<matrix::Isa>(GENERATE(from_range(available_instructions())));
}

template <typename T>
std::vector<T> numbers(size_t count, T least) {
  std::mt19937 random(1);
  std::uniform_real_distribution<T> any(least, 0);
  std::vector<T> out(count);
  for (T& value : out) {
    value = any(random);
  }
  return out;
}

// Units in the last place of e^x as the type holds it; subnormal ones too.
template <typename T>
double worst_units(matrix::Isa isa, T least) {
  constexpr int64_t kCount = 1 << 14;
  std::vector<T> x = numbers<T>(kCount, least);
  x[0] = 0;
  std::vector<T> made = x;
  decoder::RunningRow<T> row;
  decoder::exponentiate<T>(isa, made.data(), kCount, kCount, row, nullptr, 0);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const long double exact = std::exp(static_cast<long double>(x[i]));
    const T near = static_cast<T>(exact);
    const long double unit = std::nextafter(near, T{2}) - near;
    worst = std::max(worst, static_cast<double>(std::abs(exact - made[i]) / unit));
  }
  return worst;
}

}  // namespace

// A rounding of the polynomial's last step and one of r.
TEST_CASE("row exponentials: e^x is right to a unit and a half", "[models][decoder]") {
  const matrix::Isa isa = each_isa();
  CHECK(worst_units<float>(isa, -5) < 1.5);
  CHECK(worst_units<float>(isa, -110) < 1.5);
  CHECK(worst_units<double>(isa, -5) < 1.5);
  CHECK(worst_units<double>(isa, -760) < 1.5);
}

TEST_CASE("row exponentials: sums of rows of any length", "[models][decoder]") {
  const matrix::Isa isa = each_isa();
  for (const size_t count : {1, 15, 16, 17, 63, 64, 100, 50304}) {
    CAPTURE(count);
    const std::vector<float> row = numbers<float>(count, -10);
    double peak = row[0];
    for (const float value : row) {
      peak = std::max(peak, static_cast<double>(value));
    }
    double sum = 0;
    for (const float value : row) {
      sum += std::exp(static_cast<double>(value) - peak);
    }
    const decoder::RowSum got =
        decoder::sum_exponentials(isa, row.data(), static_cast<int64_t>(count));
    CHECK(got.peak == peak);
    CHECK(std::abs(got.sum - sum) < 2e-7 * sum);  // each term rounded to float32
  }
}

TEST_CASE("row exponentials: AVX2 and AVX-512 give the same bits", "[models][decoder]") {
  skip_unless(available_instructions().back() >= QUENCH_INSTRUCTIONS_AVX512,
              "this processor has no AVX-512");
  const std::vector<float> row = numbers<float>(1013, -90);
  const auto narrow = decoder::sum_exponentials(matrix::Isa::kAvx2, row.data(), 1013);
  const auto wide = decoder::sum_exponentials(matrix::Isa::kAvx512, row.data(), 1013);
  CHECK(narrow.peak == wide.peak);
  CHECK(narrow.sum == wide.sum);
}

TEST_CASE("row exponentials: NaN and infinity reach the sum", "[models][decoder]") {
  const matrix::Isa isa = each_isa();
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    for (const size_t place : {0, 40, 69}) {
      std::vector<float> row = numbers<float>(70, -1);
      row[place] = bad;
      CHECK(std::isnan(decoder::sum_exponentials(isa, row.data(), 70).sum));
    }
  }
}

}  // namespace quench::test
