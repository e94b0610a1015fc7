#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/decoder/double_backward/operations.hpp"
#include "models/decoder/elementwise.hpp"

namespace quench::decoder {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// (dy, x) -> dx = dy f'(x). If x changes by c, y changes by c f'(x) and dx by dy c f''(x).
struct PointwiseBackward : torch::autograd::Function<PointwiseBackward> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& dy, const at::Tensor&,
                            const Pointwise& made) {
    context->saved_data["first"] = made.first;
    context->saved_data["bend"] = multiply_rows(dy, made.second);
    return multiply_rows(dy, made.first);
  }
  static variable_list backward(AutogradContext* context, variable_list changes) {
    return {multiply_rows(changes[0], context->saved_data["first"].toTensor()),
            multiply_rows(changes[0], context->saved_data["bend"].toTensor()),
            {}};
  }
};

struct PointwiseForward : torch::autograd::Function<PointwiseForward> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const Pointwise& made) {
    context->saved_data["x"] = x;
    context->saved_data["first"] = made.first;
    context->saved_data["second"] = made.second;
    return made.y;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor first = context->saved_data["first"].toTensor();
    if (at::GradMode::is_enabled()) {
      const Pointwise made = {{}, first, context->saved_data["second"].toTensor()};
      return {PointwiseBackward::apply(gradients[0], context->saved_data["x"].toTensor(), made),
              {}};
    }
    return {multiply_rows(gradients[0], first), {}};
  }
};

}  // namespace

at::Tensor double_backward_pointwise(const at::Tensor& x, const Pointwise& made) {
  return PointwiseForward::apply(x, made);
}

}  // namespace quench::decoder
