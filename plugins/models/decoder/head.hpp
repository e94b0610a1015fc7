// Turns the residual stream after the last block into the loss of each token.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "quench/abi/kind/model.h"

namespace quench::decoder {

// Computes the final norm and output head: h [R, width] -> `logits` [R, vocabulary], contiguous.
using WriteLogits = std::function<void(const at::Tensor& h, const at::Tensor& logits)>;

// The number of rows whose logits exist at once: 64 MiB in float32. It depends on the shape alone,
// so that the same batch always gives the same bits.
int64_t rows_per_chunk(int64_t vocabulary, at::Device device);

// Fills nll and argmax as quench_head_args describes. h is borrowed from args; the caller has
// checked it. Rows that are not scored cost nothing if argmax is not requested. Throws
// INVALID_ARGUMENT for a target outside the vocabulary, and NUMERICAL that names the token for a
// loss that is not finite.
void token_nll(const quench_head_args& args, const at::Tensor& h, int64_t vocabulary,
               const WriteLogits& write_logits);

}  // namespace quench::decoder
