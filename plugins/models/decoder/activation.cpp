#include "models/decoder/activation.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <torch/csrc/autograd/custom_function.h>

#include <numbers>

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

constexpr uint64_t kElementsPerTask = uint64_t{1} << 15;

bool has_kernels(const at::Tensor& x) {
  return matrix::on_host(x) && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble);
}

// Calls body(at) with pointers of x's type: at(tensor) is that of its element `begin`.
template <typename T, typename Body>
void for_elements(const at::Tensor& like, Body&& body) {
  kit::parallel_for(static_cast<uint64_t>(like.numel()), kElementsPerTask,
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

// A function of each element: its kernel and the kernel of its derivative.
struct Gelu {
  double unused = 0.0;
  void value(size_t count, auto... arguments) const { kernel::gelu(count, arguments...); }
  void back(size_t count, auto... arguments) const { kernel::gelu_backward(count, arguments...); }
};
struct GeluByTanh {
  double unused = 0.0;
  void value(size_t count, auto... arguments) const { kernel::gelu_by_tanh(count, arguments...); }
  void back(size_t count, auto... arguments) const {
    kernel::gelu_by_tanh_backward(count, arguments...);
  }
};
struct SoftCap {
  double cap;
  template <typename T>
  void value(size_t count, const T* x, T* y) const {
    kernel::soft_cap(count, static_cast<T>(cap), x, y);
  }
  template <typename T>
  void back(size_t count, const T* x, const T* dy, T* dx) const {
    kernel::soft_cap_backward(count, static_cast<T>(cap), x, dy, dx);
  }
};

template <typename Curve>
struct Trained : torch::autograd::Function<Trained<Curve>> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, double parameter) {
    const at::Tensor held = x.contiguous();
    context->saved_data["x"] = held;
    context->saved_data["parameter"] = parameter;
    const at::Tensor y = at::empty_like(held);
    run([&](auto... arguments) { Curve{parameter}.value(arguments...); }, held, y);
    return y;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor x = context->saved_data["x"].toTensor();
    const double parameter = context->saved_data["parameter"].toDouble();
    const at::Tensor dy = gradients[0].contiguous();
    const at::Tensor dx = at::empty_like(x);
    run([&](auto... arguments) { Curve{parameter}.back(arguments...); }, x, dy, dx);
    return {dx, {}};
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

// Works in place. A type narrower than float32 is computed there and rounded once.
template <typename Curve>
at::Tensor overwritten(at::Tensor x, const Curve& curve) {
  if (has_kernels(x)) {
    run([&](auto... arguments) { curve.value(arguments...); }, x, x);
    return x;
  }
  kit::for_row_blocks(x, [&](int64_t first, int64_t count) {
    at::Tensor rows = x.narrow(0, first, count);
    const at::Tensor wide = rows.to(at::kFloat);
    auto* data = wide.mutable_data_ptr<float>();
    curve.value(static_cast<size_t>(wide.numel()), data, data);
    rows.copy_(wide);
  });
  return x;
}

// libtorch's sigmoid is its own in every type and has derivatives of any order in either mode.
at::Tensor smooth_tanh(const at::Tensor& x) {
  return at::sigmoid(x.mul(2)).mul(2).sub(1);
}

at::Tensor smooth_gelu_by_tanh(const at::Tensor& x) {
  const at::Tensor u =
      x.mul(x).mul(x).mul(0.044715).add(x).mul(std::numbers::inv_sqrtpi * std::numbers::sqrt2);
  return x.mul(smooth_tanh(u).add(1)).mul(0.5);
}

}  // namespace

at::Tensor gelu(at::Tensor x) {
  if (!matrix::on_host(x)) {
    return recording() ? at::gelu(x) : at::gelu_(x);
  }
  switch (current_mode()) {
    case AutogradMode::kInference:
      return overwritten(x, Gelu());
    case AutogradMode::kTraining:
      return Trained<Gelu>::apply(x, 0.0);
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

at::Tensor gated_by_tanh(at::Tensor gate, at::Tensor up) {
  if (!matrix::on_host(gate)) {
    return recording() ? smooth_gelu_by_tanh(gate).mul(up) : up.mul_(at::gelu(gate, "tanh"));
  }
  switch (current_mode()) {
    case AutogradMode::kInference:
      overwritten(gate, GeluByTanh());
      kit::for_row_blocks(up, [&](int64_t first, int64_t count) {
        at::Tensor rows = up.narrow(0, first, count);
        rows.mul_(gate.narrow(0, first, count));
      });
      return up;
    case AutogradMode::kTraining:
      return Trained<GeluByTanh>::apply(gate, 0.0).mul(up);
    default:
      return smooth_gelu_by_tanh(gate).mul(up);
  }
}

at::Tensor soft_cap(at::Tensor x, double cap) {
  if (matrix::on_host(x) && current_mode() == AutogradMode::kInference) {
    return overwritten(x, SoftCap{cap});
  }
  if (matrix::on_host(x) && current_mode() == AutogradMode::kTraining && has_kernels(x)) {
    return Trained<SoftCap>::apply(x, cap);
  }
  return smooth_tanh(x.div(cap)).mul(cap);
}

at::Tensor clip(at::Tensor x, double limit) {
  return recording() ? at::clamp(x, -limit, limit) : x.clamp_(-limit, limit);
}

}  // namespace quench::decoder
