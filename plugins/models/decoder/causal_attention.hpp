// Causal attention out of the tiles of shared/matrix: scores of a block of queries and keys stay in
// the cache, and a running maximum and sum stand in for the softmax's row (Milakov and Gimelshein
// 2018; Dao et al. 2022). libtorch's own spends half of its time in products of half-width vectors.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

// Whether causal_attention does these; where not, libtorch's does: float32 in host memory, on a
// processor that has the tiles.
bool has_causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

// softmax(q kᵀ / sqrt(D)) v, a query seeing the keys up to its own place. q [B,T,H,D], k and v
// [B,T,K,D] with K a divisor of H, each with unit stride along D -> a new [B,T,H,D]. The bits of a
// query's row depend on it and the keys that it sees alone.
at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

}  // namespace quench::decoder
