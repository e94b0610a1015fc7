// Causal attention with the tiles of shared/matrix. The scores of a block of queries and keys stay
// in the cache; a running maximum and sum replace the softmax over a whole row (Milakov and
// Gimelshein 2018; Dao et al. 2022). AVX-512 and AVX2 give the same bits.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

// softmax(q kᵀ / sqrt(D)) v, where a query sees the keys up to its own position. q [B,T,H,D], k and
// v [B,T,K,D], K a divisor of H, in host memory -> a new [B,T,H,D]. 16-bit floats are computed in
// float32 and rounded once. The bits of a query's row depend only on the query and the keys it
// sees.
at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

}  // namespace quench::decoder
