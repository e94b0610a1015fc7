// The solver with the kernel, where the weight is: on a GPU as kernels.so has it, in host memory as
// loops.
#pragma once

#include <ATen/core/Tensor.h>

#include "quantizers/grid/coded.hpp"
#include "quantizers/hqq/half_quadratic.hpp"

namespace quench::quantizers {

// Scales, zeros and codes of `weight` [rows, columns], float32 or float64, C order.
CodedThere solve_by_kernel(const at::Tensor& weight, Groups groups, int64_t bits,
                           const HalfQuadratic& options);

}  // namespace quench::quantizers
