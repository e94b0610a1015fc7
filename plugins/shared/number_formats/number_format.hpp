// Number formats for weights and activations: what an element may be, and which scale a block of
// elements shares. A value x is held as
//
//   x ≈ scale · element,     element = the nearest to x / scale, half to even, saturating
//
// in float64: x / scale is exact for scales that are powers of two. Formats by name:
//
//   mxfp4        E2M1, E8M0 scales, blocks of 32       OCP Microscaling Formats (MX) v1.0, 2023
//   mxfp6_e2m3, mxfp6_e3m2, mxfp8_e4m3, mxfp8_e5m2     likewise
//   nvfp4        E2M1, E4M3 scales, blocks of 16, a float32 scale per tensor    NVIDIA, 2025
//   fp8_e4m3, fp8_e5m2     one float32 scale for any group of values            OFP8, 2023
//   int4, int8             symmetric: -7..7 and -127..127, a float32 scale
//   ternary                -1, 0, 1 times the group's mean magnitude            arXiv 2402.17764
//   binary                 -1, 1 times the group's mean magnitude               arXiv 1603.05279
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "shared/number_formats/block_scale.hpp"
#include "shared/number_formats/float_element.hpp"

namespace quench::number_formats {

enum class ElementType { kFloat, kInteger, kTernary, kBinary };

// What a scale is made from.
enum class Statistic { kLargest, kMean };

struct NumberFormat {
  std::string_view name;
  ElementType type;
  FloatElement element;  // with kFloat
  int integer;           // with kInteger, the largest
  ScaleType scale;
  int64_t block;  // values that share a scale; 0: any group of values
  // Of one element as it is stored: 8/5 for ternary, five in a byte.
  double element_bits;

  QUENCH_BOTH double largest() const;
  int64_t entries() const;  // codes are below it
  QUENCH_BOTH Statistic statistic() const {
    return type == ElementType::kTernary || type == ElementType::kBinary ? Statistic::kMean
                                                                         : Statistic::kLargest;
  }
  QUENCH_BOTH bool has_tensor_scale() const { return scale == ScaleType::kTwoLevel; }
  double scale_bits() const { return scale == ScaleType::kFloat32 ? 32 : 8; }

  // The scale of a whole tensor with the largest magnitude `amax`, a float32; 1 where the format
  // has none.
  QUENCH_BOTH double tensor_scale_of(double amax) const;
  // The scale of a block, with the tensor's scale in it, from its statistic. Infinite or NaN where
  // the statistic is, or where the scale overflows.
  QUENCH_BOTH double scale_of(double statistic, double tensor_scale = 1) const;
  // The byte in which the scale is stored, of a scale of scale_of(); not with float32.
  QUENCH_BOTH uint8_t scale_code(double scale_value, double tensor_scale = 1) const;

  // The code of the element nearest to x / scale_value; a scale of 0 holds zeros.
  QUENCH_BOTH uint8_t code_of(double x, double scale_value) const;
  // The element of a code; NaN and infinity where the code stands for them.
  QUENCH_BOTH double element_of(uint8_t code) const;

  // Average bits per value of `values` values with `scales` scales.
  double bits_per_value(double values, double scales) const;
};

QUENCH_BOTH inline double NumberFormat::largest() const {
  return type == ElementType::kFloat ? decode(element, static_cast<uint8_t>(element.largest_code()))
                                     : integer;
}

QUENCH_BOTH inline double NumberFormat::tensor_scale_of(double amax) const {
  if (!has_tensor_scale()) {
    return 1;
  }
  return float32_scale(amax / (largest() * decode(e4m3(), e4m3().largest_code())));
}

QUENCH_BOTH inline double NumberFormat::scale_of(double statistic, double tensor_scale) const {
  if (!std::isfinite(statistic)) {
    return statistic;
  }
  switch (scale) {
    case ScaleType::kE8M0:
      return decode_e8m0(e8m0_of(statistic, element.largest_exponent()));
    case ScaleType::kTwoLevel:
      return tensor_scale * decode(e4m3(), e4m3_of(statistic / largest(), tensor_scale));
    case ScaleType::kFloat32:
      break;
  }
  return this->statistic() == Statistic::kMean ? static_cast<float>(statistic)
                                               : float32_scale(statistic / largest());
}

QUENCH_BOTH inline uint8_t NumberFormat::scale_code(double scale_value, double tensor_scale) const {
  return scale == ScaleType::kE8M0 ? static_cast<uint8_t>(binade_of(scale_value) + kE8M0Bias)
                                   : encode(e4m3(), scale_value / tensor_scale);
}

QUENCH_BOTH inline uint8_t NumberFormat::code_of(double x, double scale_value) const {
  const double ratio = scale_value > 0 ? x / scale_value : 0;
  switch (type) {
    case ElementType::kFloat:
      return encode(element, ratio);
    case ElementType::kBinary:
      return ratio >= 0 ? 1 : 0;
    case ElementType::kTernary:
    case ElementType::kInteger:
      break;
  }
  const double code = std::rint(ratio) + integer;
  const double above = code > 0 ? code : 0;  // and 0 for NaN
  return static_cast<uint8_t>(std::min(above, 2.0 * integer));
}

QUENCH_BOTH inline double NumberFormat::element_of(uint8_t code) const {
  switch (type) {
    case ElementType::kFloat:
      return decode(element, code);
    case ElementType::kBinary:
      return code == 0 ? -1 : 1;
    case ElementType::kTernary:
    case ElementType::kInteger:
      break;
  }
  return code - integer;
}

std::span<const NumberFormat> number_formats();
// Null if there is none of that name.
const NumberFormat* find_number_format(std::string_view name);
// "mxfp4|mxfp6_e2m3|...", the names as choices of a parameter: all but the integers, which
// quantizers have as `bits`.
const char* float_format_names();

// The elements of all codes.
std::array<double, 256> elements_of(const NumberFormat& format);

// max |x| or the mean of |x|, summed in order, of `count` values `stride` apart.
template <typename T>
double statistic_of(const NumberFormat& format, const T* values, int64_t count,
                    int64_t stride = 1) {
  double largest = 0;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double magnitude = std::fabs(static_cast<double>(values[i * stride]));
    largest = magnitude > largest || std::isnan(magnitude) ? magnitude : largest;
    sum += magnitude;
  }
  return format.statistic() == Statistic::kLargest ? largest : sum / static_cast<double>(count);
}

// Rounds one block of values in place; returns its scale.
template <typename T>
double round_block(const NumberFormat& format, T* values, int64_t count, double tensor_scale = 1) {
  const double scale = format.scale_of(statistic_of(format, values, count), tensor_scale);
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t code = format.code_of(static_cast<double>(values[i]), scale);
    values[i] = static_cast<T>(scale * format.element_of(code));
  }
  return scale;
}

}  // namespace quench::number_formats
