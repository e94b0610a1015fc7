// Causal attention out of the tiles of shared/matrix: scores of a block of queries and keys stay in
// the cache, and a running maximum and sum stand in for the softmax's row (Milakov and Gimelshein
// 2018; Dao et al. 2022). AVX-512 and AVX2 give the same bits.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

// softmax(q kᵀ / sqrt(D)) v, a query seeing the keys up to its own place. q [B,T,H,D], k and v
// [B,T,K,D] with K a divisor of H, in host memory -> a new [B,T,H,D]. 16-bit floats are computed in
// float32 and rounded once. The bits of a query's row depend on it and the keys that it sees alone.
at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

}  // namespace quench::decoder
