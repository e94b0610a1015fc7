// Sums of squares, in float64 and one fixed order.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::quantizers {

// The squared values of a float32 or float64 tensor [..., columns], summed where they are. In host
// memory in the order of memory; elsewhere each column in the order of rows, then the columns, so
// that only the order differs and no two devices differ.
double sum_of_squares(const at::Tensor& values);

// The sum of squared differences of two tensors [rows, ...] of one shape, in float64: in host
// memory in the order of memory, on a device by rows that are float64 at once.
double squared_difference(const at::Tensor& a, const at::Tensor& b);

}  // namespace quench::quantizers
