// Rounds a weight whose input channels are scaled: codes of w * s, and the value codes / s that
// replaces w. In float64. These loops are for weights in host memory; device/rounding_by_kernel.hpp
// has the same for others.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "quantizers/awq/grid_rule.hpp"
#include "quantizers/grid/coded.hpp"
#include "quantizers/grid/module_rules.hpp"
#include "shared/number_formats/number_format.hpp"

namespace quench::quantizers {

// The largest magnitudes of w * s to which groups are clipped, [rows, groups]; empty: no clipping.
using Limits = std::vector<double>;

// A weight [rows, columns] and how it is rounded.
struct ScaledWeight {
  at::Tensor weight;  // float32 or float64, C order, where it is to be rounded
  int64_t rows;
  int64_t columns;
  GridKind kind;
  Groups groups;
  GridRule rule;
  // In place of the grid; with scales of the least squared error of w * s if kind.mse is not 0.
  const number_formats::NumberFormat* format = nullptr;
  std::vector<double> column_most = {};  // the largest magnitude of each, where the format has a
                                         // scale of the whole weight
};

// Whether the loops below round it, and not kernels.
bool rounds_on_host(const ScaledWeight& weight);

// The largest magnitude of each column of a weight.
std::vector<double> column_magnitudes(const at::Tensor& weight);

// The scale of the whole weight w * s; 1 where it is rounded to a grid or the format has none.
double tensor_scale_of(const ScaledWeight& weight, std::span<const double> scale);

// Writes w - value for rows [first, first + count) into `errors` [count, columns]. `scale`
// [columns].
void rounding_errors(const ScaledWeight& weight, std::span<const double> scale,
                     const Limits& limits, int64_t first, int64_t count, float* errors);

// The same for group `group` of all rows, clipped to `part` of its largest magnitude, into `errors`
// [rows, size of the group].
void clipped_errors(const ScaledWeight& weight, std::span<const double> scale, int64_t group,
                    double part, float* errors);

// The largest |w * s| of each row and group, [rows, groups].
Limits magnitudes(const ScaledWeight& weight, std::span<const double> scale);

// Codes, scales and zeros of w * s; of a number format without zeros.
void code_rows(const ScaledWeight& weight, std::span<const double> scale, const Limits& limits,
               const Coded& coded);

}  // namespace quench::quantizers
