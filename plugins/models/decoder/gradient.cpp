// quench.model.grad/1: one recorded forward, then one backward.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <string>
#include <utility>

#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/decoder.hpp"
#include "models/decoder/device.hpp"
#include "models/decoder/embedding.hpp"
#include "models/decoder/loss.hpp"
#include "models/decoder/loss_batch.hpp"
#include "quench/kit/host.hpp"
#include "quench/kit/torch.hpp"

namespace quench::decoder {

namespace {

// Runs a part of a recorded forward; a family's mistake in it is told with its place.
template <typename Part>
auto recorded_in(const std::string& place, Part part) {
  try {
    return part();
  } catch (const kit::Error& error) {
    if (error.code() != QUENCH_INTERNAL) {
      throw;
    }
    throw kit::Error(error.code(), place + ": " + error.what());
  }
}

}  // namespace

at::ScalarType Decoder::vector_type() const {
  return dtype_ == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor Decoder::borrow_vector(const quench_tensor& view, const char* what) const {
  const int64_t wanted[] = {static_cast<int64_t>(weights_.total())};
  const quench_dtype type = kit::dtype_of_scalar(vector_type());
  const bool is_here = view.device.type == QUENCH_DEVICE_CPU || is_on_device(view);
  if (view.dimensions != 1 || view.shape[0] != wanted[0] || !kit::same(view.dtype, type) ||
      !is_here || !kit::is_contiguous(view)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: %s %s, wanted %s %s in host memory%s%s", what,
              kit::name_of(view.dtype).c_str(), kit::shape_text(kit::shape_of(view)).c_str(),
              kit::name_of(type).c_str(), kit::shape_text(wanted).c_str(),
              device_.is_cpu() ? "" : " or on ", device_.is_cpu() ? "" : device_.str().c_str());
  }
  return kit::borrow(view);
}

at::Tensor Decoder::parameter_of(const at::Tensor& vector, size_t parameter) const {
  const at::Tensor& weight = weights_.tensor(parameter);
  return vector
      .narrow(0, static_cast<int64_t>(weights_.parameters()[parameter].offset), weight.numel())
      .view(weight.sizes());
}

at::Tensor Decoder::recorded_block(const Batch& batch, uint32_t block, at::Tensor h) {
  weights_.enter(block);
  std::vector<at::Tensor> carried = {std::move(h)};
  for (uint32_t stage = 0; stage < plans_[block]->stage_count(); ++stage) {
    kit::check_cancelled();
    const StageIo io(std::move(carried), plans_[block]->carry(stage + 1).size());
    recorded_in("block " + std::to_string(block) + ", stage " + std::to_string(stage),
                [&] { run_stage(io, block, stage, batch); });
    carried = io.taken();
  }
  return std::move(carried.front());
}

at::Tensor Decoder::embedded(const at::Tensor& rows) const {
  return embedding_scale_ == 1.0 ? rows : rows.mul(embedding_scale_);
}

at::Tensor Decoder::recorded_forward(const Batch& batch, at::Tensor rows) {
  at::Tensor h = embedded(rows);
  for (uint32_t block = 0; block < info_.blocks; ++block) {
    h = recorded_block(batch, block, std::move(h));
  }
  return recorded_in("final norm", [&] { return final_norm(h); });
}

LossSum Decoder::add_gradient(const Batch& batch, const at::Tensor& ids,
                              const ScoredTargets& targets, const at::Tensor& vector, double weight,
                              bool autocast) {
  AutogradScope scope(AutogradMode::kTraining, autocast);
  for (size_t i = 0; i < weights_.parameters().size(); ++i) {
    scope.add_gradient(weights_.tensor(i), parameter_of(vector, i));
  }
  at::Tensor h = at::index_select(embedding_, 0, ids);
  h.requires_grad_(true);
  const at::Tensor x = recorded_forward(batch, h);
  at::Tensor dx;
  LossSum loss;
  {
    const at::NoGradGuard constant;
    const auto after = [this](const at::Tensor& product) { return after_head(product); };
    loss = loss_and_gradient(x.detach(), targets, head_.weight(), after, weight, &dx);
  }
  {
    const OneOrderOfSums fixed(device_);
    torch::autograd::backward({x}, {dx});
  }
  const at::NoGradGuard constant;
  scope.collect();
  add_embedding_gradient(h.grad(), ids, scope.gradient(embedding_));
  return loss;
}

double Decoder::gradient(const quench_loss_args& args, const quench_tensor* gradient) {
  expect_default_stream(args.stream);
  kit::expects((args.flags & ~QUENCH_LOSS_AUTOCAST_BFLOAT16) == 0, "loss: unknown flags");
  const bool autocast = (args.flags & QUENCH_LOSS_AUTOCAST_BFLOAT16) != 0;
  kit::expects(!autocast || dtype_ == at::kFloat, "loss: autocast wants a model in float32");
  const LossBatch given(args, info_.max_positions, info_.vocabulary, device_);
  const at::AutoGradMode mode(gradient != nullptr);
  if (weights_.by_block()) {
    return gradient_by_block(
        given, args.weight, autocast,
        gradient != nullptr ? borrow_vector(*gradient, "gradient") : at::Tensor());
  }
  const ScoredTargets targets(given.targets, info_.vocabulary, device_);
  if (gradient == nullptr) {
    const AutogradScope scope(AutogradMode::kTraining, autocast);
    const auto after = [this](const at::Tensor& product) { return after_head(product); };
    const at::Tensor x = recorded_forward(given.batch, at::index_select(embedding_, 0, given.ids));
    return loss_and_gradient(x, targets, head_.weight(), after, 1.0, nullptr).value();
  }
  const at::Tensor to = borrow_vector(*gradient, "gradient");
  const at::Tensor vector =
      to.device() == device_ ? to : at::zeros(to.sizes(), to.options().device(device_));
  const auto step = [&](const at::Tensor& ids, const ScoredTargets& chosen) {
    return add_gradient(given.batch, ids, chosen, vector, args.weight, autocast);
  };
  const LossSum loss =
      records(device_) && to.device() == device_ && given.batch.is_plain() && !is_replaced()
          ? recorded_step_({given.batch.rows(), given.batch.length(), autocast, args.weight,
                            vector.const_data_ptr(), embedding_.const_data_ptr()},
                           given.ids, targets, step)
          : step(given.ids, targets);
  if (to.device() != device_) {
    const at::NoGradGuard constant;
    at::Tensor total = to;
    total.add_(vector.cpu());
  }
  return loss.value();
}

}  // namespace quench::decoder
