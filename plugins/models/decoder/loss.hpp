// The loss of a batch and its derivative, computed from the input of the output head.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>

#include "models/decoder/loss_sum.hpp"

namespace quench::decoder {

// The rows that have a target, and their targets, as scored_rows() and chosen_targets(). Made
// before what it is to be compared with is computed: what goes to a GPU waits for all that it was
// told.
struct ScoredTargets {
  ScoredTargets(std::span<const int32_t> targets, int64_t vocabulary, at::Device device);
  at::Tensor rows;
  at::Tensor chosen;
};

// The logits of rows from their products with the head. What returns its argument itself costs
// nothing.
using AfterHead = std::function<at::Tensor(const at::Tensor& product)>;

// Σ -log softmax(after(x headᵀ))[target] over the rows of x [N, width] with a target >= 0, in
// float64. If `dx` is not null, it becomes factor * dloss/dx, and factor * dloss/dhead is added to
// the current AutogradScope's gradient of `head` [vocabulary, width]. Logits exist for a chunk of
// rows at a time and are overwritten by their derivative. Throws NUMERICAL if the loss is not
// finite and already known.
LossSum loss_and_gradient(const at::Tensor& x, const ScoredTargets& targets, const at::Tensor& head,
                          const AfterHead& after, double factor, at::Tensor* dx);

// The same losses as a tensor [scored] that can be differentiated any number of times; all logits
// exist at once.
at::Tensor composed_losses(const at::Tensor& logits, std::span<const int32_t> targets);

// weight * (diag(p) - p pᵀ) change for every scored row of the logits, where p is its softmax: the
// second derivative of the loss by the logits along a change of them; 0 for the others.
at::Tensor bent_logits(const at::Tensor& logits, const at::Tensor& change,
                       std::span<const int32_t> targets, double weight);

// Rows with a target, ascending, int64 on `device`; INVALID_ARGUMENT for targets outside
// -1..vocabulary-1.
at::Tensor scored_rows(std::span<const int32_t> targets, int64_t vocabulary, at::Device device);

// The targets of the scored rows, int64 [scored, 1] on `device`.
at::Tensor chosen_targets(std::span<const int32_t> targets, at::Device device);

}  // namespace quench::decoder
