// Squared output errors of rounded weights, computed from the Gram matrix of their inputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "quantizers/awq/rounding.hpp"

namespace quench::quantizers {

// tr(D G D') with D = W - rounded is exactly the squared error of W's outputs over all calibration
// rows, without keeping those rows.
class GramObjective {
 public:
  GramObjective() = default;
  GramObjective(const GramObjective&) = delete;
  GramObjective& operator=(const GramObjective&) = delete;
  virtual ~GramObjective() = default;

  virtual double error(const ScaledWeight& weight, std::span<const double> scale,
                       const Limits& limits) const = 0;
  // For each row and group, the clipping with the least rounding error within the group's own
  // columns, from `levels` candidates 1, 1 - 1/steps, ... of the group's largest magnitude.
  virtual Limits best_limits(const ScaledWeight& weight, std::span<const double> scale,
                             int64_t levels, int64_t steps) const = 0;
};

// The objective for weights that are rounded where `like` is. `gram` float64 [in, in], anywhere.
//
// In host memory, D and its products with G are float32, and the sums float64. On a device, all but
// D is float64: there it takes no longer, and the Gram matrix need not be copied.
std::unique_ptr<GramObjective> gram_objective(const at::Tensor& gram, const ScaledWeight& like);

}  // namespace quench::quantizers
