// Noise added with the kernel, where the weight is: on a GPU as kernels.so has it, in host memory
// as loops.
#pragma once

#include <ATen/core/Tensor.h>

#include "quantizers/grid/coded.hpp"

namespace quench::quantizers {

// Writes to `out` rows first, first + 1, ... of `weight` with their noise: `noise` [count, columns]
// float64, which is made `length` times as long as the error of `rounded`. All are in one memory,
// C order; `weight` and `out` are float32 or float64.
void add_noise_by_kernel(const at::Tensor& weight, const CodedThere& rounded, Groups groups,
                         const at::Tensor& noise, int64_t first, double length,
                         const at::Tensor& out);

}  // namespace quench::quantizers
