// The derivative of the token embedding.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

// Adds row n of dh [N, width] to row ids[n] of `to` [vocabulary, width]; ids is int64 [N]. Rows of
// one id are added in their order, whatever the number of threads.
void add_embedding_gradient(const at::Tensor& dh, const at::Tensor& ids, const at::Tensor& to);

}  // namespace quench::decoder
