// The gradient of one block by itself: one recorded forward of its stages, then one backward.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/decoder.hpp"
#include "models/decoder/device.hpp"
#include "models/decoder/loss_sum.hpp"
#include "quench/kit/torch.hpp"

namespace quench::decoder {

namespace {

// A caller's gradient, and where it is added up.
struct Wanted {
  std::string name;
  at::Tensor to;
  at::Tensor sum;  // on the model's device: `to` itself, or zeros
};

// Checks the shape, dtype and place of a gradient of `weight`.
at::Tensor borrow_gradient(const quench_tensor& view, const std::string& name,
                           const at::Tensor& weight, at::ScalarType type) {
  const quench_dtype wanted = kit::dtype_of_scalar(type);
  const auto shape = kit::shape_of(view);
  const bool is_here =
      view.device.type == QUENCH_DEVICE_CPU || kit::torch_device(view.device) == weight.device();
  if (!std::ranges::equal(shape, weight.sizes()) || !kit::same(view.dtype, wanted) || !is_here ||
      !kit::is_contiguous(view)) {
    kit::fail(QUENCH_INVALID_ARGUMENT,
              "block_gradient: gradient of %s: %s %s, wanted %s %s in C order in host memory or on "
              "the model's device",
              name.c_str(), kit::name_of(view.dtype).c_str(), kit::shape_text(shape).c_str(),
              kit::name_of(wanted).c_str(),
              kit::shape_text({weight.sizes().data(), weight.sizes().size()}).c_str());
  }
  return kit::borrow(view);
}

bool is_linear_of(const quench_block_info& block, const std::string& weight) {
  for (uint32_t g = 0; g < block.group_count; ++g) {
    const quench_group_info& group = block.groups[g];
    for (uint32_t l = 0; l < group.linear_count; ++l) {
      if (weight == group.linears[l].weight) {
        return true;
      }
    }
  }
  return false;
}

// loss, and weight * dloss/doutput in the type of `output`.
struct Slope {
  double loss;
  at::Tensor direction;
};

Slope slope_of(const at::Tensor& output, const at::Tensor& target, const at::Tensor& slope,
               double weight) {
  const at::Tensor wide = output.to(at::kDouble);
  if (slope.defined()) {
    const double loss = sum_of(wide.mul(slope));
    return {loss, weight == 1.0 ? slope : slope.mul(weight)};
  }
  const at::Tensor away = wide.sub(target);
  const double loss = sum_of(away.mul(away));
  return {loss, away.mul(2 * weight).to(output.scalar_type())};
}

}  // namespace

double Decoder::block_gradient(const quench_block_gradient_args& args) {
  expect_default_stream(args.stream);
  kit::expects(args.flags == 0, "block_gradient: unknown flags");
  const Batch batch(args.batch, info_.max_positions);
  const auto rows = [&](const quench_tensor* view, const char* what) {
    return borrow_rows(view, batch.tokens(), info_.width, info_.dtype, device_, what);
  };
  const at::Tensor h = rows(args.h, "block_gradient: h").detach();
  const at::Tensor target =
      args.target != nullptr ? rows(args.target, "block_gradient: target") : at::Tensor();
  const at::Tensor slope =
      args.slope != nullptr ? rows(args.slope, "block_gradient: slope") : at::Tensor();

  // Addresses of weights, which a scope knows them by, are those of the block that is there.
  weights_.enter(args.block);
  const at::AutoGradMode mode(true);
  AutogradScope scope(AutogradMode::kTraining);
  std::vector<Wanted> wanted;
  for (uint32_t i = 0; i < args.weight_count; ++i) {
    const std::string name = args.names[i];
    if (!is_linear_of(plans_[args.block]->info(), name)) {
      kit::fail(QUENCH_NOT_FOUND, "block_gradient: %s: no weight of a linear of block %u",
                name.c_str(), args.block);
    }
    kit::expects(std::ranges::none_of(wanted, [&](const Wanted& w) { return w.name == name; }),
                 "block_gradient: a weight is named twice");
    const at::Tensor to =
        borrow_gradient(args.gradients[i], name, weights_.at(name), vector_type());
    wanted.push_back(
        {name, to,
         to.device() == device_ ? to : at::zeros(to.sizes(), to.options().device(device_))});
    scope.add_gradient(weights_.at(name), wanted.back().sum);
  }
  for (const size_t i : weights_.of_block(args.block)) {  // nobody's, but operations look for them
    if (const at::Tensor& weight = weights_.tensor(i); std::ranges::none_of(
            wanted, [&](const Wanted& w) { return weights_.at(w.name).is_same(weight); })) {
      scope.add_gradient(weight, at::zeros(weight.sizes(), weight.options().dtype(vector_type())));
    }
  }

  const at::Tensor input = h.detach().requires_grad_(true);
  const at::Tensor output = recorded_block(batch, args.block, input);
  const Slope found = [&] {
    const at::NoGradGuard constant;
    return slope_of(output.detach(), target, slope, args.weight);
  }();
  if (!std::isfinite(found.loss)) {
    kit::fail(QUENCH_NUMERICAL, "block_gradient: the loss of block %u is %f", args.block,
              found.loss);
  }
  {
    const OneOrderOfSums fixed(device_);
    torch::autograd::backward({output}, {found.direction});
  }
  const at::NoGradGuard constant;
  scope.collect();
  for (Wanted& each : wanted) {
    if (!each.sum.is_same(each.to)) {
      each.to.add_(each.sum.cpu());
    }
  }
  return found.loss;
}

}  // namespace quench::decoder
