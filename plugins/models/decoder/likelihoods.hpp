// In-place softmax and its loss gradient, so that logits need no second buffer.
#pragma once

#include <ATen/core/Tensor.h>

#include "models/decoder/loss_sum.hpp"

namespace quench::decoder {

// Replaces each row of logits [R, V] (float32 or float64, contiguous) by its softmax. Returns the
// sum of -log softmax(logits)[target] over the rows; targets int64 [R, 1].
LossSum make_likelihoods(const at::Tensor& logits, const at::Tensor& targets);

// Replaces each softmax row p by factor * (p - 1 at the target).
void make_gradient(const at::Tensor& likelihoods, const at::Tensor& targets, double factor);

// Both at once. What is left in the logits where `differentiate` is not set is of no use. On a GPU
// one kernel makes them of float32.
LossSum make_loss_gradient(const at::Tensor& logits, const at::Tensor& targets, double factor,
                           bool differentiate);

// That kernel, in host memory as loops; whether it is there and made them.
bool make_by_kernel(const at::Tensor& logits, const at::Tensor& targets, double factor,
                    bool differentiate, LossSum& loss);

}  // namespace quench::decoder
