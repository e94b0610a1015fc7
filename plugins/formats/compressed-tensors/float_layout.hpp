// Layouts of compressed-tensors for weights in floats of 4 to 8 bits, under the names that a config
// has for them:
//
// | format               | element | columns of a scale | scale                                 |
// |----------------------|---------|--------------------|---------------------------------------|
// | nvfp4-pack-quantized | E2M1    | 16                 | E4M3, over a float32 of the weight    |
// | mxfp4-pack-quantized | E2M1    | 32                 | E8M0                                  |
// | mxfp6-pack-quantized | E2M3    | 32                 | E8M0                                  |
// | mxfp8-quantized      | E4M3    | 32                 | E8M0                                  |
// | float-quantized      | E4M3    | as the config says | a float                               |
// | naive-quantized      | E4M3    | likewise           | likewise; integers have the name, too |
//
// A weight is its element times its scale, in float32. Codes below 8 bits are one stream of bits in
// each row, lowest first.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/number_formats/block_scale.hpp"
#include "shared/number_formats/float_element.hpp"

namespace quench::formats {

struct FloatLayout {
  std::string_view name;  // `format` of the config
  number_formats::FloatElement element;
  number_formats::ScaleType scale;
  int64_t block;  // columns that share a scale; 0: any

  int64_t bits() const { return element.bits(); }
  bool is_packed() const { return bits() < 8; }
};

inline constexpr FloatLayout kFloatLayouts[] = {
    {"nvfp4-pack-quantized", number_formats::kE2M1, number_formats::ScaleType::kTwoLevel, 16},
    {"mxfp4-pack-quantized", number_formats::kE2M1, number_formats::ScaleType::kE8M0, 32},
    {"mxfp6-pack-quantized", number_formats::kE2M3, number_formats::ScaleType::kE8M0, 32},
    {"mxfp8-quantized", number_formats::kE4M3, number_formats::ScaleType::kE8M0, 32},
    {"float-quantized", number_formats::kE4M3, number_formats::ScaleType::kFloat32, 0},
    {"naive-quantized", number_formats::kE4M3, number_formats::ScaleType::kFloat32, 0},
};

// Null where there is none of this name.
inline const FloatLayout* find_float_layout(std::string_view name) {
  for (const FloatLayout& layout : kFloatLayouts) {
    if (layout.name == name) {
      return &layout;
    }
  }
  return nullptr;
}

// A layout with the weights that share a scale.
struct FloatScheme {
  const FloatLayout* layout = nullptr;
  int64_t rows = 1;      // -1: all, as for one scale of the whole weight
  int64_t columns = -1;  // -1: all

  bool is_whole() const { return rows == -1; }
  bool operator==(const FloatScheme&) const = default;
};

// The numbers of all codes, NaN among them.
inline std::array<float, 256> numbers_of(const number_formats::FloatElement& element) {
  std::array<float, 256> out{};
  for (size_t code = 0; code < size_t{1} << element.bits(); ++code) {
    out[code] = static_cast<float>(number_formats::decode(element, static_cast<uint8_t>(code)));
  }
  return out;
}

// The scale that a byte E4M3 and the float32 of the whole weight give: their quotient, as readers
// of these files compute it.
inline float two_level_scale(uint8_t code, float global) {
  return static_cast<float>(number_formats::decode(number_formats::kE4M3, code)) / global;
}

}  // namespace quench::formats
