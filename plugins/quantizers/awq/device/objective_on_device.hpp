// The objective for weights on a device: rounded by the kernels, multiplied by libtorch.
#pragma once

#include <cstdint>
#include <memory>

#include "quantizers/awq/objective.hpp"

namespace quench::quantizers {

// `gram` float64 [in, in] where the weights are. Nothing but limits, scales and sums is copied
// between the device and the host.
std::unique_ptr<GramObjective> objective_on_device(const at::Tensor& gram);
// Bytes that it holds at once of a weight of that size, beside weight and Gram matrix.
uint64_t objective_bytes_on_device(uint64_t rows, uint64_t columns);

}  // namespace quench::quantizers
