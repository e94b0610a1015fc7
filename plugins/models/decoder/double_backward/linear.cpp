#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/decoder/double_backward/operations.hpp"
#include "models/decoder/linear.hpp"
#include "models/decoder/row_sums.hpp"
#include "shared/matrix/product.hpp"

namespace quench::decoder {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct DoubleBackwardLinear : torch::CustomClassHolder {
  DoubleBackwardLinear(at::Tensor w, at::Tensor b, SharedHvpVectors v)
      : weight(std::move(w)), bias(std::move(b)), vectors(std::move(v)) {}

  // Adds the derivatives of weight and bias that follow from dy.
  void add_gradients(const at::Tensor& dy, const at::Tensor& x) const {
    add_product(dy, x, vectors->to(weight));
    if (const at::Tensor sums = vectors->to(bias); sums.defined()) {
      add_column_sums(dy, sums);
    }
  }

  at::Tensor weight;
  at::Tensor bias;
  SharedHvpVectors vectors;
};

using Shared = c10::intrusive_ptr<DoubleBackwardLinear>;

Shared linear_of(AutogradContext* context) {
  return c10::static_intrusive_pointer_cast<DoubleBackwardLinear>(
      context->saved_data["linear"].toCapsule());
}

// (dy, x) -> dx = dy W. Adds dyᵀ x for the weight and the column sums of dy for the bias.
struct LinearBackward : torch::autograd::Function<LinearBackward> {
  static variable_list forward(AutogradContext* context, const at::Tensor& dy, const at::Tensor& x,
                               const Shared& linear) {
    context->set_materialize_grads(false);
    context->saved_data["dy"] = dy;
    context->saved_data["x"] = x;
    context->saved_data["linear"] = c10::IValue::make_capsule(linear);
    linear->add_gradients(dy, x);
    return {matrix::product(dy, linear->weight), at::zeros({}, dy.options())};
  }

  static variable_list backward(AutogradContext* context, variable_list changes) {
    const at::Tensor dy = context->saved_data["dy"].toTensor();
    const at::Tensor x = context->saved_data["x"].toTensor();
    const Shared linear = linear_of(context);
    const at::Tensor& change = changes[0];  // of x; undefined if nothing before x moves
    const at::Tensor along = linear->vectors->direction(linear->weight);
    at::Tensor moved = at::empty(dy.sizes(), dy.options());  // the change of y
    matrix::product_into(moved, x, along.t(), linear->vectors->direction(linear->bias));
    if (change.defined()) {
      const at::Tensor held = change.contiguous();
      matrix::add_product(moved, held, linear->weight.t());
      add_product(dy, held, linear->vectors->to(linear->weight));
    }
    return {moved, matrix::product(dy, along), {}};
  }
};

struct LinearForward : torch::autograd::Function<LinearForward> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const Shared& linear) {
    context->saved_data["x"] = x;
    context->saved_data["linear"] = c10::IValue::make_capsule(linear);
    at::Tensor y = at::empty({x.size(0), linear->weight.size(0)}, x.options());
    matrix::product_into(y, x, linear->weight.t(), linear->bias);
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor x = context->saved_data["x"].toTensor();
    const Shared linear = linear_of(context);
    const at::Tensor dy = gradients[0].contiguous();
    if (at::GradMode::is_enabled()) {
      const variable_list made = LinearBackward::apply(dy, x, linear);
      linear->vectors->add_root(made[1]);
      return {made[0], {}};
    }
    linear->add_gradients(dy, x);
    return {matrix::product(dy, linear->weight), {}};
  }
};

}  // namespace

at::Tensor double_backward_linear(const at::Tensor& x, const at::Tensor& weight,
                                  const at::Tensor& bias, const SharedHvpVectors& vectors) {
  // Here, where the stage is known, and not in the backward.
  vectors->to(weight);
  vectors->to(bias);
  return LinearForward::apply(x, c10::make_intrusive<DoubleBackwardLinear>(weight, bias, vectors));
}

}  // namespace quench::decoder
