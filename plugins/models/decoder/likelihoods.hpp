// What the loss of a batch and its derivative are made of, in place of the logits.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

// Replaces each row of logits [R, V], float32 or float64, contiguous, by its softmax. Returns the
// sum over the rows of -log softmax(logits)[target]; targets int64 [R, 1].
double make_likelihoods(const at::Tensor& logits, const at::Tensor& targets);

// Replaces each such softmax p by factor * (p - 1 at the target).
void make_gradient(const at::Tensor& likelihoods, const at::Tensor& targets, double factor);

}  // namespace quench::decoder
