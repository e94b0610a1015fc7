// Attention of which only blocks of scores exist, with and without a derivative, in host memory.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

bool has_blocked_attention(const at::Tensor& q);

// softmax(q kᵀ / sqrt(D)) v of each head; q [B,T,H,D], k and v [B,T,K,D] of one float type, H a
// multiple of K: that many query heads read one key head. A token sees itself and the earlier ones
// of its row, or of these those where `mask` (boolean [B,1,T,T], contiguous) is true. Narrower
// types than float32 are computed in float32 and rounded once. Recorded where gradients are.
at::Tensor blocked_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const at::Tensor& mask);

}  // namespace quench::decoder
