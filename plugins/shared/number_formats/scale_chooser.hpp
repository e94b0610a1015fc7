// The scale of a block: the one of the format's rule, or one with the least sum of squared errors
// (scale_search.hpp).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "shared/number_formats/scale_search.hpp"

namespace quench::number_formats {

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
