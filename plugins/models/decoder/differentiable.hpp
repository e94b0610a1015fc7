// Composed operations that libtorch would hand to MKL. They have derivatives of any order in
// reverse mode and one more in forward mode (AutogradMode::kElementary).
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

// a [..., m, k] · b [..., k, n], both with 2 or both with 4 dimensions.
at::Tensor multiply(const at::Tensor& a, const at::Tensor& b);

// x Φ(x), twice differentiable in either mode.
at::Tensor smooth_gelu(const at::Tensor& x);

// e^x for x < 80, and log(x) for x >= 1.
at::Tensor exponential_of(const at::Tensor& x);
at::Tensor logarithm_of(const at::Tensor& x);

}  // namespace quench::decoder
