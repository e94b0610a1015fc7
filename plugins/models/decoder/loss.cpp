#include "models/decoder/loss.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/differentiable.hpp"
#include "models/decoder/elementwise.hpp"
#include "models/decoder/likelihoods.hpp"
#include "models/decoder/linear.hpp"
#include "quench/kit/host.hpp"
#include "shared/matrix/product.hpp"

namespace quench::decoder {

namespace {

// Rows per chunk of logits: 16 MiB in float32, but at least 256 so that the products stay large; on
// a device, which is slow to begin each, 512 MiB.
int64_t rows_at_once(int64_t vocabulary, at::Device device) {
  return std::max<int64_t>(256, (int64_t{1} << (device.is_cpu() ? 22 : 27)) / vocabulary);
}

// Logits that may be written over.
class Logits {
 public:
  Logits(const at::Tensor& product, const AfterHead& after, bool differentiate) : values_(product) {
    const at::AutoGradMode mode(differentiate);
    leaf_ = product.detach().requires_grad_(differentiate);
    made_ = after(leaf_);
    if (made_.is_same(leaf_)) {
      made_.reset();
    } else {
      values_ = made_.detach().clone();
    }
  }
  const at::Tensor& values() const { return values_; }
  // The derivative by the product from that by the logits.
  at::Tensor back(const at::Tensor& derivative) const {
    return made_.defined() ? torch::autograd::grad({made_}, {leaf_}, {derivative}).front()
                           : derivative;
  }

 private:
  at::Tensor values_;
  at::Tensor leaf_;
  at::Tensor made_;  // undefined where nothing follows the head
};

}  // namespace

at::Tensor scored_rows(std::span<const int32_t> targets, int64_t vocabulary, at::Device device) {
  const at::Tensor rows =
      at::empty({static_cast<int64_t>(targets.size())}, at::TensorOptions(at::kLong));
  auto* to = rows.mutable_data_ptr<int64_t>();
  int64_t count = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] < -1 || targets[i] >= vocabulary) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "targets: token %zu: got %d, wanted -1..%lld", i,
                targets[i], static_cast<long long>(vocabulary - 1));
    }
    if (targets[i] >= 0) {
      to[count++] = static_cast<int64_t>(i);
    }
  }
  return rows.narrow(0, 0, count).to(device);
}

at::Tensor chosen_targets(std::span<const int32_t> targets, at::Device device) {
  const at::Tensor kept =
      at::empty({static_cast<int64_t>(targets.size()), 1}, at::TensorOptions(at::kLong));
  auto* to = kept.mutable_data_ptr<int64_t>();
  int64_t count = 0;
  for (const int32_t target : targets) {
    if (target >= 0) {
      to[count++] = target;
    }
  }
  return kept.narrow(0, 0, count).to(device);
}

ScoredTargets::ScoredTargets(std::span<const int32_t> targets, int64_t vocabulary,
                             at::Device device)
    : rows(scored_rows(targets, vocabulary, device)), chosen(chosen_targets(targets, device)) {}

LossSum loss_and_gradient(const at::Tensor& x, const ScoredTargets& targets, const at::Tensor& head,
                          const AfterHead& after, double factor, at::Tensor* dx) {
  AutogradScope& scope = *AutogradScope::current();
  const at::Tensor weight = scope.autocast() ? scope.narrowed(head) : head;
  const at::ScalarType wide = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const auto& [rows, chosen] = targets;
  const bool all = rows.size(0) == x.size(0);
  const int64_t chunk = rows_at_once(head.size(0), x.device());
  if (dx != nullptr) {
    *dx = all ? at::empty(x.sizes(), x.options()) : at::zeros_like(x);
  }
  LossSum loss;
  for (int64_t first = 0; first < rows.size(0); first += chunk) {
    kit::check_cancelled();
    const int64_t count = std::min(chunk, rows.size(0) - first);
    const at::Tensor places = rows.narrow(0, first, count);
    const at::Tensor ids = chosen.narrow(0, first, count);
    const at::Tensor from =
        in_type(all ? x.narrow(0, first, count) : x.index_select(0, places), weight.scalar_type());
    const Logits logits(in_type(matrix::product(from, weight.t()), wide), after, dx != nullptr);
    const at::Tensor& values = logits.values();
    loss += make_loss_gradient(values, ids, factor, dx != nullptr);
    if (dx == nullptr) {
      continue;
    }
    const at::Tensor back = in_type(logits.back(values), weight.scalar_type());
    if (const at::Tensor gradient = scope.gradient(head); gradient.defined()) {
      add_product(back, from, gradient);
    }
    const at::Tensor made = in_type(matrix::product(back, weight), x.scalar_type());
    if (all) {
      copy_rows(made, dx->narrow(0, first, count));
    } else {
      dx->index_copy_(0, places, made);
    }
  }
  if (loss.is_known()) {
    static_cast<void>(loss.value());
  }
  return loss;
}

at::Tensor composed_losses(const at::Tensor& logits, std::span<const int32_t> targets) {
  const at::ScalarType wide = logits.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor rows = scored_rows(targets, logits.size(1), logits.device());
  const at::Tensor scored = rows.size(0) == logits.size(0) ? logits : logits.index_select(0, rows);
  // Composed operations whose backward can be differentiated in forward mode too.
  const at::Tensor values = scored.to(wide);
  const at::Tensor chosen = values.gather(1, chosen_targets(targets, logits.device())).squeeze(1);
  const at::Tensor peak = values.detach().amax({1}, /*keepdim=*/true);
  const at::Tensor sum = exponential_of(values.sub(peak)).sum({1});
  return logarithm_of(sum).add(peak.squeeze(1)).sub(chosen);
}

at::Tensor bent_logits(const at::Tensor& logits, const at::Tensor& change,
                       std::span<const int32_t> targets, double weight) {
  const at::Tensor rows = scored_rows(targets, logits.size(1), logits.device());
  const at::Tensor likely = at::softmax(logits.detach().index_select(0, rows), 1);
  const at::Tensor along = likely.mul(change.index_select(0, rows));
  const at::Tensor bent = along.sub(likely.mul(along.sum(1, /*keepdim=*/true))).mul_(weight);
  at::Tensor directions = at::zeros_like(logits);
  directions.index_copy_(0, rows, bent);
  return directions;
}

}  // namespace quench::decoder
