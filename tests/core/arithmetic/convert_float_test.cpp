#include "core/arithmetic/convert_float.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"

namespace quench::test {

namespace {

uint16_t narrowed(double value, quench_dtype dtype) {
  uint16_t bits = 0;
  from_float64(&value, 1, dtype, &bits);
  return bits;
}

double widened(uint16_t bits, quench_dtype dtype) {
  double value = 0;
  to_float64(dtype, &bits, 1, &value);
  return value;
}

// By the definition of the format, digit for digit.
double half_by_definition(uint32_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  const int exponent = static_cast<int>((bits >> 10) & 31U);
  const double fraction = bits & 0x3FFU;
  return sign *
         (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

}  // namespace

TEST_CASE("convert_float: every half and bfloat16 survives the way to float64 and back",
          "[core][convert_float]") {
  size_t wrong = 0;
  for (uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto stored = static_cast<uint16_t>(bits);
    for (const quench_dtype dtype : {kFloat16, kBFloat16}) {
      const double value = widened(stored, dtype);
      wrong += std::isnan(value) ? !std::isnan(widened(narrowed(value, dtype), dtype))
                                 : narrowed(value, dtype) != stored;
    }
    if ((bits & 0x7C00U) != 0x7C00U) {
      wrong += widened(stored, kFloat16) != half_by_definition(bits);
    }
    const auto brain = std::bit_cast<float>(bits << 16);
    wrong += !std::isnan(brain) && widened(stored, kBFloat16) != double{brain};
  }
  CHECK(wrong == 0);
}

TEST_CASE("convert_float: a value between two numbers goes to the nearer, a tie to the even one",
          "[core][convert_float]") {
  // Halves of 1 lie 2^-10 apart, bfloat16s 2^-7.
  CHECK(narrowed(1 + 0x1p-11, kFloat16) == 0x3C00);
  CHECK(narrowed(1 + 3 * 0x1p-11, kFloat16) == 0x3C02);
  CHECK(narrowed(1 + 0x1p-8, kBFloat16) == 0x3F80);
  CHECK(narrowed(1 + 3 * 0x1p-8, kBFloat16) == 0x3F82);
  // A float32 in between would make ties of these.
  CHECK(narrowed(1 + 0x1p-11 + 0x1p-40, kFloat16) == 0x3C01);
  CHECK(narrowed(1 + 0x1p-8 + 0x1p-40, kBFloat16) == 0x3F81);
  // Subnormals lie 2^-24 and 2^-133 apart.
  CHECK(narrowed(0x1p-25, kFloat16) == 0);
  CHECK(narrowed(0x1p-25 + 0x1p-60, kFloat16) == 1);
  CHECK(narrowed(-3 * 0x1p-134, kBFloat16) == 0x8002);
  CHECK(narrowed(1023.75 * 0x1p-24, kFloat16) == 0x0400);
}

TEST_CASE("convert_float: what is too large becomes infinite", "[core][convert_float]") {
  CHECK(narrowed(65519.999, kFloat16) == 0x7BFF);
  CHECK(narrowed(65520, kFloat16) == 0x7C00);
  CHECK(narrowed(-1e300, kFloat16) == 0xFC00);
  CHECK(narrowed(0x1.FEp127, kBFloat16) == 0x7F7F);
  CHECK(narrowed(0x1.FFp127, kBFloat16) == 0x7F80);
  CHECK(narrowed(-1e300, kBFloat16) == 0xFF80);
  CHECK(narrowed(-std::numeric_limits<double>::infinity(), kFloat16) == 0xFC00);
}

TEST_CASE("convert_float: float32 and float64 pass, integers are refused",
          "[core][convert_float]") {
  const std::vector<double> values = {1.5, -0x1p-149, 1 + 0x1p-24};
  std::vector<float> floats(3);
  from_float64(values.data(), 3, kFloat32, floats.data());
  CHECK(floats == std::vector<float>{1.5F, -0x1p-149F, 1.0F});
  std::vector<double> back(3);
  to_float64(kFloat32, floats.data(), 3, back.data());
  CHECK(back == std::vector<double>{1.5, -0x1p-149, 1});
  from_float64(values.data(), 3, kFloat64, back.data());
  CHECK(back == values);
  CHECK_THROWS_AS(to_float64(kInt32, floats.data(), 3, back.data()), Error);
  CHECK_THROWS_AS(from_float64(values.data(), 3, kBool, floats.data()), Error);
}

}  // namespace quench::test
