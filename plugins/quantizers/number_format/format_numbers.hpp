// Number formats as kernels round to them (grid/grid_numbers.hpp): the scales of scale_chooser.hpp
// and the codes of number_format.hpp, to the bit. A grid's zero is 0.
#pragma once

#include "quantizers/grid/search_kernel.hpp"
#include "shared/number_formats/scale_search.hpp"

namespace quench::quantizers {

using number_formats::NumberFormat;
using number_formats::ScaleRule;

static_assert(number_formats::kFactorsEnd - number_formats::kLeastFactor < kSearchSteps,
              "a number of a try is no sign that nothing was tried");

struct FormatNumbers {
  NumberFormat format;
  ScaleRule rule;
  double tensor_scale;

  QUENCH_KERNEL bool searches() const {
    return rule == ScaleRule::kLeastSquares && number_formats::alternative_scales(format) > 0;
  }
  // The try 0 is the format's own scale, of the largest magnitude.
  template <typename Value>
  QUENCH_KERNEL Tried try_some(Range range, const Value& value, int64_t count, int first,
                               int stride) const {
    const double usual = format.scale_of(largest(range), tensor_scale);
    const int tries = number_formats::alternative_scales(format) + 1;
    Tried best = nothing_tried();
    for (int i = first; i < tries && std::isfinite(usual); i += stride) {
      const double scale = scale_of_try(usual, i);
      const double error = scale > 0 ? squared_error(value, count, scale, best.error) : best.error;
      if (error < best.error) {
        best = {error, i, 0};
      }
    }
    return best;
  }
  template <typename Value>
  QUENCH_KERNEL Grid chosen(Range range, const Tried& tried, const Value& value,
                            int64_t count) const {
    const bool mean = format.statistic() == number_formats::Statistic::kMean;
    const double usual =
        format.scale_of(mean ? mean_magnitude(value, count) : largest(range), tensor_scale);
    return {searches() && tried.step < kSearchSteps ? scale_of_try(usual, tried.step) : usual, 0};
  }
  QUENCH_KERNEL double code(double x, const Grid& grid) const {
    return format.code_of(x, grid.scale);
  }
  QUENCH_KERNEL double number(double code, const Grid& grid) const {
    return grid.scale * format.element_of(static_cast<uint8_t>(static_cast<int>(code)));
  }

 private:
  QUENCH_KERNEL static double largest(Range range) {
    const double below = std::fabs(range.min);  // the range of zeros may be [-0, -0]
    const double above = std::fabs(range.max);
    return below > above ? below : above;
  }
  QUENCH_KERNEL double scale_of_try(double usual, int i) const {
    return i == 0 ? usual : number_formats::alternative_scale(format, usual, tensor_scale, i - 1);
  }
  // In the order of the values, as the host adds.
  template <typename Value>
  QUENCH_KERNEL static double mean_magnitude(const Value& value, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      sum += std::fabs(value(i));
    }
    return sum / static_cast<double>(count);
  }
  // Of the values; a number that is at least `limit` where the sum is.
  template <typename Value>
  QUENCH_KERNEL double squared_error(const Value& value, int64_t count, double scale,
                                     double limit) const {
    double sum = 0;
    for (int64_t i = 0; i < count && sum < limit; ++i) {
      const double magnitude = std::fabs(value(i));
      const double error = magnitude - number(code(magnitude, {scale, 0}), {scale, 0});
      sum += error * error;
    }
    return sum;
  }
};

// Whether kernels do. Scales with the least error of ternary weights are found from sorted
// magnitudes, on the host.
inline bool finds_scales_by_kernel(const NumberFormat& format, ScaleRule rule) {
  return rule == ScaleRule::kOfFormat || format.type != number_formats::ElementType::kTernary;
}

}  // namespace quench::quantizers
