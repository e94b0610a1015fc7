// Scales that blocks of values share, as formats store them.
//
//   E8M0     a power of two in a byte, 2^(code - 127); the code 255 is NaN. A block with the
//   largest
//            magnitude a gets 2^(floor(log2 a) - emax), emax being the exponent of the element's
//            largest number (OCP MX v1.0, section 6.3), within 2^-127 and 2^127.
//   E4M3     of NVFP4: a / (6 · s) rounded to E4M3FN, where s = amax / (6 · 448) is the tensor's
//            own scale in float32; the product of both scales the elements.
//   float32  a / (largest number of the element), rounded to float32.
//
// A block of zeros gets the least scale, so no scale is 0 but that of a mean of magnitudes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "shared/number_formats/float_element.hpp"

namespace quench::number_formats {

enum class ScaleType { kFloat32, kE8M0, kTwoLevel };

inline constexpr int kE8M0Bias = 127;
inline constexpr uint8_t kE8M0Nan = 255;

QUENCH_BOTH inline double decode_e8m0(uint8_t code) {
  return code == kE8M0Nan ? std::numeric_limits<double>::quiet_NaN()
                          : power_of_two(code - kE8M0Bias);
}

// The code of the scale of a block with the largest magnitude `largest`.
QUENCH_BOTH inline uint8_t e8m0_of(double largest, int element_exponent) {
  if (!std::isfinite(largest)) {
    return kE8M0Nan;
  }
  const int bias = kE8M0Bias;
  const int exponent = largest > 0 ? binade_of(largest) - element_exponent : -bias;
  return static_cast<uint8_t>(std::clamp(exponent, -bias, bias) + bias);
}

// The code of scale / tensor_scale, at least the least number above 0, so that nothing is divided
// by 0 and small blocks keep what they can.
QUENCH_BOTH inline uint8_t e4m3_of(double scale, double tensor_scale) {
  const uint8_t code = encode(e4m3(), scale / tensor_scale);
  return code == 0 ? uint8_t{1} : code;
}

// Rounded to float32, at least its least number above 0; infinite where it overflows.
QUENCH_BOTH inline double float32_scale(double scale) {
  return std::max(static_cast<float>(scale), std::numeric_limits<float>::denorm_min());
}

}  // namespace quench::number_formats
