#include "models/decoder/activation.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/decoder/activation_kernels.hpp"
#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/differentiable.hpp"
#include "models/decoder/double_backward/operations.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::decoder {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr uint64_t kElements = uint64_t{1} << 15;  // elements per task

bool has_kernels(const at::Tensor& x) {
  return matrix::on_host(x) && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble);
}

// Calls body(at) with pointers of x's type: at(tensor) is that of its element `begin`.
template <typename T, typename Body>
void for_elements(const at::Tensor& like, Body&& body) {
  kit::parallel_for(static_cast<uint64_t>(like.numel()), kElements,
                    [&](uint64_t begin, uint64_t end) {
                      body([begin](const at::Tensor& x) { return x.mutable_data_ptr<T>() + begin; },
                           static_cast<size_t>(end - begin));
                    });
}

// Calls a kernel on the elements of contiguous tensors that share one type and one size.
template <typename Kernel, typename... Tensors>
void run(Kernel&& kernel, const at::Tensor& first, const Tensors&... rest) {
  const auto body = [&](const auto& at, size_t count) { kernel(count, at(first), at(rest)...); };
  if (first.scalar_type() == at::kDouble) {
    for_elements<double>(first, body);
  } else {
    for_elements<float>(first, body);
  }
}

struct TrainedGelu : torch::autograd::Function<TrainedGelu> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x) {
    const at::Tensor held = x.contiguous();
    context->saved_data["x"] = held;
    const at::Tensor y = at::empty_like(held);
    run([](auto... arguments) { kernel::gelu(arguments...); }, held, y);
    return y;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor x = context->saved_data["x"].toTensor();
    const at::Tensor dy = gradients[0].contiguous();
    const at::Tensor dx = at::empty_like(x);
    run([](auto... arguments) { kernel::gelu_backward(arguments...); }, x, dy, dx);
    return {dx};
  }
};

struct TrainedGate : torch::autograd::Function<TrainedGate> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate,
                            const at::Tensor& up) {
    const at::Tensor opened = gate.contiguous();
    const at::Tensor passed = up.contiguous();
    context->saved_data["gate"] = opened;
    context->saved_data["up"] = passed;
    const at::Tensor y = at::empty_like(opened);
    run([](auto... arguments) { kernel::gate(arguments...); }, opened, passed, y);
    return y;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor gate = context->saved_data["gate"].toTensor();
    const at::Tensor up = context->saved_data["up"].toTensor();
    const at::Tensor dy = gradients[0].contiguous();
    variable_list made = {at::empty_like(gate), at::empty_like(up)};
    run([](auto... arguments) { kernel::gate_backward(arguments...); }, gate, up, dy, made[0],
        made[1]);
    return made;
  }
};

// `derive` sets y, y' and y'' of x.
template <typename Derive>
at::Tensor double_backward(const at::Tensor& x, Derive&& derive) {
  Pointwise made;
  {
    const at::NoGradGuard constant;
    const at::Tensor held = x.detach().contiguous();
    made = {at::empty_like(held), at::empty_like(held), at::empty_like(held)};
    run(derive, held, made.y, made.first, made.second);
  }
  return double_backward_pointwise(x, made);
}

// Works in place and computes in float32; each step rounds to x's narrower type.
at::Tensor gelu_of_narrow(at::Tensor x) {
  kit::for_row_blocks(x, [&](int64_t first, int64_t count) {
    at::Tensor rows = x.narrow(0, first, count);
    const at::Tensor wide = rows.to(at::kFloat);
    auto* data = wide.mutable_data_ptr<float>();
    kernel::gelu(static_cast<size_t>(wide.numel()), data, data);
    rows.copy_(wide);
  });
  return x;
}

}  // namespace

at::Tensor gelu(at::Tensor x) {
  if (!matrix::on_host(x)) {
    return recording() ? at::gelu(x) : at::gelu_(x);
  }
  switch (current_mode()) {
    case AutogradMode::kInference:
      if (!has_kernels(x)) {
        return gelu_of_narrow(x);
      }
      run([](auto... arguments) { kernel::gelu(arguments...); }, x, x);
      return x;
    case AutogradMode::kTraining:
      return TrainedGelu::apply(x);
    case AutogradMode::kDoubleBackward:
      return double_backward(x, [](auto... arguments) { kernel::gelu_derivatives(arguments...); });
    default:
      return smooth_gelu(x);
  }
}

at::Tensor gated(at::Tensor gate, at::Tensor up) {
  if (current_mode() == AutogradMode::kElementary || !matrix::on_host(gate)) {
    return recording() ? gate.mul(at::sigmoid(gate)).mul(up) : up.mul_(at::silu_(gate));
  }
  switch (current_mode()) {
    case AutogradMode::kInference:
      if (has_kernels(gate)) {
        run([](auto... arguments) { kernel::gate(arguments...); }, gate, up, up);
        return up;
      }
      kit::for_row_blocks(up, [&](int64_t first, int64_t count) {
        at::Tensor opened = gate.narrow(0, first, count);
        at::Tensor rows = up.narrow(0, first, count);
        rows.mul_(at::silu_(opened));
      });
      return up;
    case AutogradMode::kTraining:
      return TrainedGate::apply(gate, up);
    case AutogradMode::kDoubleBackward:
      return double_backward(gate,
                             [](auto... arguments) { kernel::silu_derivatives(arguments...); })
          .mul(up);
    default:
      return at::silu(gate).mul(up);
  }
}

at::Tensor clip(at::Tensor x, double limit) {
  return recording() ? at::clamp(x, -limit, limit) : x.clamp_(-limit, limit);
}

}  // namespace quench::decoder
