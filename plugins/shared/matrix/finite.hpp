// Whether a tensor holds NaN or Inf.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::matrix {

// Of a tensor of floats with at least one element, in any memory: one reading, where at::isfinite
// takes four, by all threads in host memory. Waits for a device.
bool all_finite(const at::Tensor& values);

}  // namespace quench::matrix
