#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/decoder/double_backward/operations.hpp"
#include "models/decoder/double_backward/ordered_sum.hpp"
#include "models/decoder/likelihoods.hpp"
#include "models/decoder/loss.hpp"
#include "quench/kit/host.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::decoder {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr uint64_t kRows = 4;  // rows per task

// change -> weight * p (change - Σ p change), for each row p of `likely`.
template <typename T>
at::Tensor bent(const at::Tensor& likely, const at::Tensor& change, double weight) {
  at::Tensor out = at::empty_like(likely);
  const auto columns = static_cast<size_t>(likely.size(1));
  const auto* p = likely.const_data_ptr<T>();
  const auto* moved = change.const_data_ptr<T>();
  auto* to = out.mutable_data_ptr<T>();
  kit::parallel_for(
      static_cast<uint64_t>(likely.size(0)), kRows, [&](uint64_t begin, uint64_t end) {
        for (uint64_t row = begin; row < end; ++row) {
          const T* own = p + row * columns;
          const T* by = moved + row * columns;
          T* at = to + row * columns;
          const auto mean =
              static_cast<T>(ordered_sum(columns, [&](size_t c) { return own[c] * by[c]; }));
          const auto factor = static_cast<T>(weight);
          for (size_t c = 0; c < columns; ++c) {
            at[c] = factor * own[c] * (by[c] - mean);
          }
        }
      });
  return out;
}

struct Likelihoods {
  at::Tensor likely;  // softmax, 0 in rows without a target
  at::Tensor gradient;
  double weight;
};

struct LossGradient : torch::autograd::Function<LossGradient> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor&, const Likelihoods& made) {
    context->saved_data["likely"] = made.likely;
    context->saved_data["weight"] = made.weight;
    return made.gradient;
  }
  static variable_list backward(AutogradContext* context, variable_list changes) {
    const at::Tensor likely = context->saved_data["likely"].toTensor();
    const double weight = context->saved_data["weight"].toDouble();
    const at::Tensor change = changes[0].contiguous();
    if (!matrix::on_host(likely)) {
      const at::Tensor along = likely.mul(change);
      return {along.sub_(likely.mul(along.sum(1, /*keepdim=*/true))).mul_(weight), {}};
    }
    return {likely.scalar_type() == at::kDouble ? bent<double>(likely, change, weight)
                                                : bent<float>(likely, change, weight),
            {}};
  }
};

}  // namespace

at::Tensor double_backward_loss_gradient(const at::Tensor& logits, std::span<const int32_t> targets,
                                         double weight, double& loss) {
  at::Tensor likely;
  at::Tensor gradient;
  {
    const at::NoGradGuard constant;
    const at::Tensor held = logits.detach();
    const at::Tensor rows = scored_rows(targets, logits.size(1), logits.device());
    const bool all = rows.size(0) == logits.size(0);
    const at::Tensor scored = all ? held : held.index_select(0, rows);
    const at::Tensor chosen = chosen_targets(targets, logits.device());
    at::Tensor values = scored.clone();
    loss = make_likelihoods(values, chosen).value();
    likely = all ? values : at::zeros_like(held).index_copy_(0, rows, values);
    values = values.clone();
    make_gradient(values, chosen, weight);
    gradient = all ? values : at::zeros_like(held).index_copy_(0, rows, values);
  }
  return LossGradient::apply(logits, Likelihoods{likely, gradient, weight});
}

}  // namespace quench::decoder
