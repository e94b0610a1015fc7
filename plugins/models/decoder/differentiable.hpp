// Operations of the composed forms that libtorch would hand to MKL: with derivatives of any order
// backwards and, on top of that, one forwards (AutogradScope's kElementary).
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

// a [..., m, k] · b [..., k, n], both of 2 or both of 4 dimensions.
at::Tensor multiply(const at::Tensor& a, const at::Tensor& b);

// x Φ(x), whose derivative in either direction can be taken twice.
at::Tensor smooth_gelu(const at::Tensor& x);

// e^x for x <= 0 and log(x) for x >= 1.
at::Tensor exponential_of(const at::Tensor& x);
at::Tensor logarithm_of(const at::Tensor& x);

}  // namespace quench::decoder
