// From the residual stream after the last block to the loss of each token.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "quench/abi/kind/model.h"

namespace quench::decoder {

// Final norm and output head: h [R, width] -> `logits` [R, vocabulary], contiguous.
using WriteLogits = std::function<void(const at::Tensor& h, const at::Tensor& logits)>;

// Tokens whose logits exist at once: 64 MiB of them in float32. A rule of the shape alone, so that
// the same batch always gives the same bits.
int64_t rows_per_chunk(int64_t vocabulary);

// Fills nll and argmax as quench_head_args says; h is borrowed from args and checked by the caller.
// Rows that are not scored cost nothing when argmax is not asked for. Throws INVALID_ARGUMENT for a
// target outside the vocabulary and NUMERICAL, naming the token, when a loss is not finite.
void token_nll(const quench_head_args& args, const at::Tensor& h, int64_t vocabulary,
               const WriteLogits& write_logits);

}  // namespace quench::decoder
