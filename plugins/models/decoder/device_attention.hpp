// Attention whose backward is made of products of whole matrices: on a GPU, in one order of sums.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace quench::decoder {

// softmax(q kᵀ / sqrt(D)) v of each head; q, k and v [B,H,T,D] of float32 or float64. A token sees
// itself and the earlier tokens of its row, or only those where `mask` (boolean [B,1,T,T]) is true.
// Once differentiable. Scores exist only in the backward, of as many heads at a time as have at
// most `scores` of them, or one: 256 MiB in float32.
//
// libtorch's own backward of float32 with one order of sums has one block of threads a head, which
// leaves most of a GPU idle.
at::Tensor device_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& mask, int64_t scores = int64_t{1} << 26);

}  // namespace quench::decoder
