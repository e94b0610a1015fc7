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
};

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

// Codes, scales and zeros of w * s.
void code_rows(const ScaledWeight& weight, std::span<const double> scale, const Limits& limits,
               const Coded& coded);

}  // namespace quench::quantizers
