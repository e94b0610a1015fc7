#include "models/decoder/linear.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/differentiable.hpp"
#include "models/decoder/double_backward/operations.hpp"
#include "models/decoder/elementwise.hpp"
#include "models/decoder/row_sums.hpp"
#include "quench/kit/answer.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/product.hpp"

namespace quench::decoder {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The inputs of the product other than x; not variables of the graph.
struct LinearOperands {
  at::Tensor weight;  // bfloat16 under autocast
  at::Tensor bias;    // undefined if there is none
  at::Tensor weight_gradient;
  at::Tensor bias_gradient;
};

// y = x Wᵀ + b. Its backward adds to the gradients of W and b in place. If the weight is bfloat16
// and x is wider, the products are bfloat16 and y has x's type.
struct TrainedLinear : torch::autograd::Function<TrainedLinear> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const LinearOperands& operands) {
    const auto& [weight, bias, weight_gradient, bias_gradient] = operands;
    const at::Tensor from = in_type(x, weight.scalar_type());
    context->saved_data["x"] = from;
    context->saved_data["weight"] = weight;
    context->saved_data["weight_gradient"] = weight_gradient;
    context->saved_data["bias_gradient"] = bias_gradient;
    context->saved_data["type"] = static_cast<int64_t>(x.scalar_type());
    if (from.scalar_type() != x.scalar_type()) {
      at::Tensor y = in_type(matrix::product(from, weight.t()), x.scalar_type());
      return bias.defined() ? y.add_(bias) : y;
    }
    at::Tensor y = at::empty({from.size(0), weight.size(0)}, from.options());
    matrix::product_into(y, from, weight.t(), bias);
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor x = context->saved_data["x"].toTensor();
    const at::Tensor weight = context->saved_data["weight"].toTensor();
    const auto type = static_cast<at::ScalarType>(context->saved_data["type"].toInt());
    const at::Tensor dy = gradients[0].contiguous();
    const at::Tensor narrow = in_type(dy, x.scalar_type());
    add_product(narrow, x, context->saved_data["weight_gradient"].toTensor());
    if (const at::Tensor sums = context->saved_data["bias_gradient"].toTensor(); sums.defined()) {
      add_column_sums(dy, sums);
    }
    at::Tensor dx;
    if (context->needs_input_grad(0)) {
      dx = in_type(matrix::product(narrow, weight), type);
    }
    return {dx, {}};
  }
};

}  // namespace

void add_product(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& to) {
  if (to.defined()) {
    matrix::add_product(to, dy.t(), x);
  }
}

Linear::Linear(at::Tensor weight, at::Tensor bias)
    : weight_(std::move(weight)), bias_(std::move(bias)) {}

Linear::Linear(Linear&& other) noexcept
    : weight_(std::move(other.weight_)),
      bias_(std::move(other.bias_)),
      op_(std::exchange(other.op_, quench_linear_op{})),
      name_(std::move(other.name_)) {}

Linear::~Linear() {
  set_op(nullptr, "");
}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  if (recording()) {
    return recorded(x);
  }
  // A replacement reads and writes the host's memory.
  const bool for_host = op_.apply != nullptr && x.is_cpu();
  at::Tensor y = for_host ? kit::host_empty({x.size(0), out_features()}, x.scalar_type())
                          : at::empty({x.size(0), out_features()}, x.options());
  into(x, y);
  return y;
}

at::Tensor Linear::replaced_inputs(const at::Tensor& x) const {
  if (op_.inputs == nullptr) {
    kit::fail(QUENCH_UNSUPPORTED,
              "%s: it has no derivative, because its replacement does not tell what it multiplies",
              name_.c_str());
  }
  const at::Tensor given = x.detach().contiguous();
  const at::Tensor rounded =
      x.is_cpu() ? kit::host_empty(x.sizes(), x.scalar_type()) : at::empty_like(given);
  const quench_tensor from = kit::view_of(given);
  const quench_tensor to = kit::view_of(rounded);
  quench_error error{sizeof error, 0, {}};
  kit::check(op_.inputs(op_.context, &from, &to, nullptr, &error), error);
  return straight_through(x, rounded);
}

at::Tensor Linear::recorded(const at::Tensor& inputs) const {
  const at::Tensor x = op_.apply != nullptr ? replaced_inputs(inputs) : inputs;
  AutogradScope& scope = *AutogradScope::current();
  if (scope.mode() == AutogradMode::kDoubleBackward) {
    return double_backward_linear(x, weight_, bias_, scope.vectors());
  }
  if (composing()) {
    const at::Tensor weight = scope.leaf(weight_);
    const at::Tensor y = multiply(x, weight.t());
    return bias_.defined() ? y.add(scope.leaf(bias_)) : y;
  }
  const LinearOperands operands = {scope.autocast() ? scope.narrowed(weight_) : weight_, bias_,
                                   scope.gradient(weight_),
                                   bias_.defined() ? scope.gradient(bias_) : at::Tensor()};
  return TrainedLinear::apply(x, operands);
}

void Linear::into(const at::Tensor& x, const at::Tensor& y) const {
  at::Tensor result = y;
  if (op_.apply != nullptr) {
    const quench_tensor from = kit::view_of(x);
    const quench_tensor to = kit::view_of(result);
    quench_error error{sizeof error, 0, {}};
    kit::check(op_.apply(op_.context, &from, &to, nullptr, &error), error);
    if (bias_.defined()) {
      add_rows(result, bias_.expand_as(result), result);
    }
  } else {
    matrix::product_into(result, x, weight_.t(), bias_);
  }
}

void Linear::set_op(const quench_linear_op* op, const char* name) {
  if (op_.apply != nullptr && op_.release != nullptr) {
    op_.release(op_.context);
  }
  op_ = op != nullptr ? kit::whole(*op) : quench_linear_op{};
  name_ = name;
}

}  // namespace quench::decoder
