// Squared output errors of rounded weights, computed from the Gram matrix of their inputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "quantizers/awq/rounding.hpp"

namespace quench::quantizers {

// tr(D G D') with D = W - rounded is exactly the squared error of W's outputs over all calibration
// rows, without keeping those rows. D and the products are float32, the sums float64. Because G is
// symmetric, half of the products of D with G suffice.
class GramObjective {
 public:
  // `gram` float64 [in, in].
  explicit GramObjective(const at::Tensor& gram);

  double error(const ScaledWeight& weight, std::span<const double> scale,
               const Limits& limits) const;
  // For each row and group, the clipping with the least rounding error within the group's own
  // columns, from `levels` candidates 1, 1 - 1/steps, ... of the group's largest magnitude.
  Limits best_limits(const ScaledWeight& weight, std::span<const double> scale, int64_t levels,
                     int64_t steps) const;

 private:
  // d G d' for each row d of `errors`, which is overwritten.
  std::vector<double> quadratic_forms(at::Tensor& errors, const at::Tensor& gram) const;

  double unit_;      // the Gram matrix's largest diagonal element, which divides gram_
  at::Tensor gram_;  // float32
};

}  // namespace quench::quantizers
