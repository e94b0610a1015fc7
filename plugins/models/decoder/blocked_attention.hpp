// Attention that only ever holds blocks of scores, with and without derivatives, in host memory.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

bool has_blocked_attention(const at::Tensor& q);

// softmax(q kᵀ / sqrt(D)) v of each head; q [B,T,H,D], k and v [B,T,K,D] of one float type. H is a
// multiple of K: H/K query heads read one key head. A token sees itself and the earlier tokens of
// its row, or only those where `mask` (boolean [B,1,T,T], contiguous) is true. With a `cap`, a
// score s becomes cap * tanh(s / cap). Types narrower than float32 are computed in float32 and
// rounded once. Differentiable if an input requires gradients.
at::Tensor blocked_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const at::Tensor& mask, double cap = 0.0);

}  // namespace quench::decoder
