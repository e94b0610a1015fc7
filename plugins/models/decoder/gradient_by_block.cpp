// quench.model.grad/1 of a model that comes block by block: the forward keeps only what enters each
// block, and the backward computes a block again while its weights are there.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <optional>
#include <utility>
#include <vector>

#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/decoder.hpp"
#include "models/decoder/embedding.hpp"
#include "models/decoder/loss.hpp"
#include "models/decoder/loss_batch.hpp"

namespace quench::decoder {

namespace {

// The gradients of one block's weights, or of those that belong to none, on their device.
class PartOfGradient {
 public:
  // `scope` adds to it.
  PartOfGradient(const Weights& weights, std::optional<uint32_t> block, at::ScalarType type,
                 AutogradScope& scope) {
    for (const size_t i : weights.of_block(block)) {
      const at::Tensor& weight = weights.tensor(i);
      const at::Tensor sum = at::zeros(weight.sizes(), weight.options().dtype(type));
      scope.add_gradient(weight, sum);
      sums_.push_back({static_cast<int64_t>(weights.parameters()[i].offset), sum});
    }
  }

  void add_to(const at::Tensor& vector) const {
    for (const auto& [offset, sum] : sums_) {
      vector.narrow(0, offset, sum.numel()).add_(sum.view({-1}).to(vector.device()));
    }
  }

 private:
  std::vector<std::pair<int64_t, at::Tensor>> sums_;
};

}  // namespace

double Decoder::gradient_by_block(const LossBatch& given, double weight, bool autocast,
                                  const at::Tensor& to) {
  const ScoredTargets targets(given.targets, info_.vocabulary, device_);
  const auto after = [this](const at::Tensor& product) { return after_head(product); };
  std::vector<at::Tensor> inputs;  // of each block
  at::Tensor h = embedded(at::index_select(embedding_, 0, given.ids));
  {
    const at::NoGradGuard constant;
    for (uint32_t block = 0; block < info_.blocks; ++block) {
      // What a scope knows of weights it knows by their addresses, where others lie afterwards.
      const AutogradScope scope(AutogradMode::kTraining, autocast);
      inputs.push_back(to.defined() ? h : at::Tensor());
      h = recorded_block(given.batch, block, h);
    }
  }
  if (!to.defined()) {
    const AutogradScope scope(AutogradMode::kTraining, autocast);
    return loss_and_gradient(final_norm(h), targets, head_.weight(), after, 1.0, nullptr).value();
  }
  const auto differentiate = [](const at::Tensor& y, const at::Tensor& dy, const at::Tensor& x,
                                AutogradScope& scope) {
    torch::autograd::backward({y}, {dy});
    const at::NoGradGuard constant;
    scope.collect();
    return x.grad();
  };
  LossSum loss;
  at::Tensor dh;
  at::Tensor embedding_gradient;
  std::optional<PartOfGradient> ends;
  {
    AutogradScope scope(AutogradMode::kTraining, autocast);
    ends.emplace(weights_, std::nullopt, vector_type(), scope);
    embedding_gradient = scope.gradient(embedding_);
    const at::Tensor last = h.detach().requires_grad_(true);
    const at::Tensor x = final_norm(last);
    at::Tensor dx;
    {
      const at::NoGradGuard constant;
      loss = loss_and_gradient(x.detach(), targets, head_.weight(), after, weight, &dx);
    }
    dh = differentiate(x, dx, last, scope);
  }
  for (uint32_t block = info_.blocks; block-- > 0;) {
    weights_.enter(block);
    AutogradScope scope(AutogradMode::kTraining, autocast);
    const PartOfGradient part(weights_, block, vector_type(), scope);
    const at::Tensor first = std::exchange(inputs[block], {}).detach().requires_grad_(true);
    dh = differentiate(recorded_block(given.batch, block, first), dh, first, scope);
    const at::NoGradGuard constant;
    part.add_to(to);
  }
  const at::NoGradGuard constant;
  add_embedding_gradient(embedded(dh), given.ids, embedding_gradient);
  ends->add_to(to);
  return loss.value();
}

}  // namespace quench::decoder
