// The objective for weights on a device: rounded by the kernels, multiplied by libtorch.
#pragma once

#include <memory>

#include "quantizers/awq/objective.hpp"

namespace quench::quantizers {

// `gram` float64 [in, in] where the weights are. Nothing but limits, scales and sums is copied
// between the device and the host.
std::unique_ptr<GramObjective> objective_on_device(const at::Tensor& gram);

}  // namespace quench::quantizers
