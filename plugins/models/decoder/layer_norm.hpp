// Layer norm (Ba et al. 2016): y = (x - mean) / sqrt(variance + eps) * weight + bias.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

// Normalizes each row of x [N, C] into a new tensor. weight and bias [C], or both undefined (1, 0).
at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      double eps);

}  // namespace quench::decoder
