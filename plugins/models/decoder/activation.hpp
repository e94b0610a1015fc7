// The activations of an MLP, row by row. Without an AutogradScope they overwrite their arguments to
// save memory. The return value holds the result.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

// The exact GELU, x Φ(x).
at::Tensor gelu(at::Tensor x);
// silu(gate) * up. Without an AutogradScope it overwrites both and returns `up`.
at::Tensor gated(at::Tensor gate, at::Tensor up);
// gelu(gate) * up with the GELU that tanh approximates; otherwise likewise.
at::Tensor gated_by_tanh(at::Tensor gate, at::Tensor up);
// cap * tanh(x / cap).
at::Tensor soft_cap(at::Tensor x, double cap);
// Clamps x to [-limit, limit].
at::Tensor clip(at::Tensor x, double limit);

}  // namespace quench::decoder
