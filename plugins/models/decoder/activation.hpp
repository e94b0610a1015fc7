// What an MLP does between its linears, row by row. In place without a AutogradScope, which spares
// memory; the result is what is returned.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

// Exact: x Φ(x).
at::Tensor gelu(at::Tensor x);
// silu(gate) * up; without a AutogradScope both are overwritten and `up` is returned.
at::Tensor gated(at::Tensor gate, at::Tensor up);
// Into [-limit, limit].
at::Tensor clip(at::Tensor x, double limit);

}  // namespace quench::decoder
