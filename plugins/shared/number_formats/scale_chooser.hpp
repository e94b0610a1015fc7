// The scale of a block: the one of the format's rule, or, of all scales that the format can store,
// one with the least sum of squared errors of the block's values, each rounded to the nearest
// element. Of scales that are as good the rule's is kept, then the first in the order given here.
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

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "shared/number_formats/number_format.hpp"

namespace quench::number_formats {

enum class ScaleRule { kOfFormat, kLeastSquares };

inline constexpr int kFactorUnit = 32;   // factors of a float32 scale are multiples of 1/32,
inline constexpr int kLeastFactor = 16;  // from 1/2
inline constexpr int kFactorsEnd = 64;   // to below 2
inline constexpr int kNearCodes = 7;     // of E4M3, to each side

// For one block after the other, by one thread.
class ScaleChooser {
 public:
  ScaleChooser(const NumberFormat& format, ScaleRule rule, double tensor_scale = 1)
      : format_(format), rule_(rule), tensor_scale_(tensor_scale) {
    if (rule == ScaleRule::kLeastSquares) {
      elements_ = elements_of(format);
    }
  }

  // Of `count` values `stride` apart. Infinite or NaN where the rule's is.
  template <typename T>
  double scale_of(const T* values, int64_t count, int64_t stride = 1) {
    const double usual =
        format_.scale_of(statistic_of(format_, values, count, stride), tensor_scale_);
    if (rule_ == ScaleRule::kOfFormat || !std::isfinite(usual)) {
      return usual;
    }
    magnitudes_.resize(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      magnitudes_[static_cast<size_t>(i)] = std::fabs(static_cast<double>(values[i * stride]));
    }
    return least_squares(usual);
  }

 private:
  double least_squares(double usual);
  double of_kept_magnitudes();
  // The sum for this scale; any number that is at least `limit` where it is.
  double squared_error(double scale, double limit) const;

  const NumberFormat& format_;
  ScaleRule rule_;
  double tensor_scale_;
  std::array<double, 256> elements_{};
  std::vector<double> magnitudes_;
};

}  // namespace quench::number_formats
