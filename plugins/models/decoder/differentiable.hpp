// Composed operations that libtorch would hand to MKL. They have derivatives of any order in
// reverse mode and one more in forward mode (AutogradMode::kElementary).
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

// a [..., m, k] · b [..., k, n], both with 2 or both with 4 dimensions.
at::Tensor multiply(const at::Tensor& a, const at::Tensor& b);

// `rounded`, with the derivatives of x in every mode: rounding passes them on as they are (Bengio,
// Leonard and Courville 2013, the straight-through estimator). Finite values of x's shape and type.
at::Tensor straight_through(const at::Tensor& x, const at::Tensor& rounded);

// x Φ(x), twice differentiable in either mode.
at::Tensor smooth_gelu(const at::Tensor& x);

// e^x for x < 80, and log(x) for x >= 1.
at::Tensor exponential_of(const at::Tensor& x);
at::Tensor logarithm_of(const at::Tensor& x);

}  // namespace quench::decoder
