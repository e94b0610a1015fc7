// Which scales of a block are tried beside the one of the format's rule, for one with the least sum
// of squared errors of the block's values, each rounded to the nearest element. Of scales that are
// as good the rule's is kept, then the first in the order given here. On the host
// (scale_chooser.hpp) and in kernels.
//
//   ternary    float32, exactly the least: the mean of the k largest magnitudes, with the k that
//              has the largest (their sum)^2 / k. The error of magnitudes m with k of them kept is
//              sum m^2 - 2 s S_k + k s^2, least at s = S_k / k, where it is sum m^2 - S_k^2 / k. It
//              is the error of rounding to nearest, too: that of no other choice of which to keep
//              is less with the same s, and less with another choice would be less with its own k.
//   binary     the rule's, the mean magnitude: sum (m - s)^2 is least at the mean.
//   E8M0       half the rule's s, s, or twice it. No other is better: 2 s cuts nothing off, as
//              a < 2^(emax + 1) s, and in that range every element of 4 s is one of 2 s. Half of it
//              cuts off the largest value, and gains only where elements of s are subnormal: with
//              E2M1 and E2M3 that may be more, with a quarter it never is, with others neither.
//   E4M3       of NVFP4, t stays: the seven codes below the rule's and the seven above it, about a
//              factor of two to each side. With blocks of 16 no other is better, for the same
//              reasons.
//   float32    the rule's times k / 32 for k in 16..63: a grid, so not exactly the least.
#pragma once

#include <cstdint>

#include "shared/number_formats/number_format.hpp"

namespace quench::number_formats {

enum class ScaleRule { kOfFormat, kLeastSquares };

inline constexpr int kFactorUnit = 32;   // factors of a float32 scale are multiples of 1/32,
inline constexpr int kLeastFactor = 16;  // from 1/2
inline constexpr int kFactorsEnd = 64;   // to below 2
inline constexpr int kNearCodes = 7;     // of E4M3, to each side

// How many scales alternative_scale() knows; of ternary and binary none, whose best is known.
QUENCH_BOTH inline int alternative_scales(const NumberFormat& format) {
  if (format.statistic() == Statistic::kMean) {
    return 0;
  }
  switch (format.scale) {
    case ScaleType::kE8M0:
      return 2;
    case ScaleType::kTwoLevel:
      return 2 * kNearCodes;
    case ScaleType::kFloat32:
      break;
  }
  return kFactorsEnd - kLeastFactor - 1;
}

// The one of number `i` beside the rule's, `usual`; 0 where the format has no such scale.
QUENCH_BOTH inline double alternative_scale(const NumberFormat& format, double usual,
                                            double tensor_scale, int i) {
  switch (format.scale) {
    case ScaleType::kE8M0: {
      const int code = format.scale_code(usual) + (i == 0 ? -1 : 1);
      return code >= 0 && code < kE8M0Nan ? decode_e8m0(static_cast<uint8_t>(code)) : 0;
    }
    case ScaleType::kTwoLevel: {
      const int step = i < kNearCodes ? i - kNearCodes : i - kNearCodes + 1;
      const int code = format.scale_code(usual, tensor_scale) + step;
      return code >= 1 && code <= e4m3().largest_code()
                 ? tensor_scale * decode(e4m3(), static_cast<uint8_t>(code))
                 : 0;
    }
    case ScaleType::kFloat32:
      break;
  }
  const int factor = kLeastFactor + i;
  return float32_scale(usual * (factor < kFactorUnit ? factor : factor + 1) / kFactorUnit);
}

}  // namespace quench::number_formats
