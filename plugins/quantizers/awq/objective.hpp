// Squared output errors of rounded weights, from the Gram matrix of their inputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "quantizers/awq/rounding.hpp"

namespace quench::quantizers {

// tr(D G D'), D = W - rounded, summed over all rows: the squared error of W's outputs over all
// calibration rows, exactly, without those rows. D and products are float32, sums float64; the
// products are half of those of D with G, which is symmetric.
class GramObjective {
 public:
  // `gram` float64 [in, in].
  explicit GramObjective(const at::Tensor& gram);

  double error(const ScaledWeight& weight, std::span<const double> scale,
               const Limits& limits) const;
  // For each row and group the clipping, of `levels` parts 1, 1 - 1/steps, ... of its largest
  // magnitude, whose rounding has the least error within the group's own columns.
  Limits best_limits(const ScaledWeight& weight, std::span<const double> scale, int64_t levels,
                     int64_t steps) const;

 private:
  // For each row d of `errors`, which is changed, d G d'.
  std::vector<double> quadratic_forms(at::Tensor& errors, const at::Tensor& gram) const;

  double unit_;      // the Gram matrix's largest diagonal, by which gram_ is divided
  at::Tensor gram_;  // float32
};

}  // namespace quench::quantizers
