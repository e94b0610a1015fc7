#include "quench/kit/scalar.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

namespace quench::kit {

namespace {

struct Narrow {
  const char* name;
  uint16_t (*to)(double);
  float (*from)(uint16_t);
  uint16_t infinity;
};

const Narrow kNarrow[] = {{"float16", to_half, from_half, 0x7C00},
                          {"bfloat16", to_bfloat, from_bfloat, 0x7F80}};

}  // namespace

TEST_CASE("dtype_of: integers of each width, bool and both floats have theirs", "[sdk]") {
  CHECK(name_of(dtype_of<bool>()) == "bool8");
  CHECK(name_of(dtype_of<int8_t>()) == "int8");
  CHECK(name_of(dtype_of<int16_t>()) == "int16");
  CHECK(name_of(dtype_of<int32_t>()) == "int32");
  CHECK(name_of(dtype_of<int64_t>()) == "int64");
  CHECK(name_of(dtype_of<uint8_t>()) == "uint8");
  CHECK(name_of(dtype_of<uint16_t>()) == "uint16");
  CHECK(name_of(dtype_of<uint32_t>()) == "uint32");
  CHECK(name_of(dtype_of<uint64_t>()) == "uint64");
  CHECK(name_of(dtype_of<float>()) == "float32");
  CHECK(name_of(dtype_of<double>()) == "float64");
}

TEST_CASE("16-bit floats: every value comes back, zeros and subnormals too", "[sdk]") {
  for (const Narrow& narrow : kNarrow) {
    CAPTURE(narrow.name);
    uint32_t wrong = 0;
    for (uint32_t magnitude = 0; magnitude <= narrow.infinity; ++magnitude) {
      for (const uint32_t bits : {magnitude, magnitude | 0x8000u}) {
        const auto value = static_cast<double>(narrow.from(static_cast<uint16_t>(bits)));
        wrong += narrow.to(value) == bits ? 0 : 1;
      }
    }
    CHECK(wrong == 0);
    CHECK(std::isnan(narrow.from(narrow.to(std::numeric_limits<double>::quiet_NaN()))));
  }
}

TEST_CASE("16-bit floats: between two neighbours the nearer one, on a tie the even one", "[sdk]") {
  for (const Narrow& narrow : kNarrow) {
    CAPTURE(narrow.name);
    uint32_t wrong = 0;
    for (uint32_t low = 0; low + 1 < narrow.infinity; ++low) {
      const uint32_t high = low + 1;
      const auto below = static_cast<double>(narrow.from(static_cast<uint16_t>(low)));
      const auto above = static_cast<double>(narrow.from(static_cast<uint16_t>(high)));
      const double middle = (below + above) / 2;
      wrong += narrow.to(middle) == (low % 2 == 0 ? low : high) ? 0 : 1;
      wrong += narrow.to(std::nextafter(middle, 0.0)) == low ? 0 : 1;  // float32 would be a tie
      wrong += narrow.to(std::nextafter(middle, above)) == high ? 0 : 1;
      wrong += narrow.to(-middle) == ((low % 2 == 0 ? low : high) | 0x8000u) ? 0 : 1;
    }
    CHECK(wrong == 0);
    CHECK(narrow.to(1e300) == narrow.infinity);
    CHECK(narrow.to(5e-324) == 0);
  }
}

}  // namespace quench::kit
