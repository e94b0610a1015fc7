#include "models/decoder/differentiable.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/sigmoid.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/decoder/activation_kernels.hpp"
#include "models/decoder/dual.hpp"
#include "quench/kit/error.hpp"
#include "shared/matrix/on_host.hpp"
#include "shared/matrix/product.hpp"

namespace quench::decoder {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor product_of(const at::Tensor& a, const at::Tensor& b) {
  if (a.dim() == 2) {
    return matrix::product(a, b);
  }
  const at::Tensor made = at::empty({a.size(0), a.size(1), a.size(2), b.size(3)}, a.options());
  for (int64_t row = 0; row < a.size(0); ++row) {
    for (int64_t head = 0; head < a.size(1); ++head) {
      matrix::product_into(made.select(0, row).select(0, head), a.select(0, row).select(0, head),
                           b.select(0, row).select(0, head));
    }
  }
  return made;
}

// The operands with their tangents, saved for a backward; not variables of the graph.
struct Factors {
  at::Tensor a;
  at::Tensor b;
};

struct Product : torch::autograd::Function<Product> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& a, const at::Tensor& b,
                            const Factors& factors) {
    context->saved_data["a"] = factors.a;
    context->saved_data["b"] = factors.b;
    return product_of(a, b);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor a = context->saved_data["a"].toTensor();
    const at::Tensor b = context->saved_data["b"].toTensor();
    variable_list made(3);
    if (context->needs_input_grad(0)) {
      made[0] = multiply(gradients[0], b.transpose(-2, -1));
    }
    if (context->needs_input_grad(1)) {
      made[1] = multiply(a.transpose(-2, -1), gradients[0]);
    }
    return made;
  }
};

// GELU and its first two derivatives.
at::Tensor gelu_derivative(const at::Tensor& x, int64_t order) {
  const at::Tensor held = x.contiguous();
  const variable_list made = {at::empty_like(held), at::empty_like(held), at::empty_like(held)};
  const auto count = static_cast<size_t>(held.numel());
  if (held.scalar_type() == at::kDouble) {
    kernel::gelu_derivatives(count, held.const_data_ptr<double>(),
                             made[0].mutable_data_ptr<double>(), made[1].mutable_data_ptr<double>(),
                             made[2].mutable_data_ptr<double>());
  } else {
    kernel::gelu_derivatives(count, held.const_data_ptr<float>(), made[0].mutable_data_ptr<float>(),
                             made[1].mutable_data_ptr<float>(), made[2].mutable_data_ptr<float>());
  }
  return made[static_cast<size_t>(order)];
}

at::Tensor derived_gelu(const at::Tensor& x, int64_t order);

struct GeluDerivative : torch::autograd::Function<GeluDerivative> {
  struct Argument {
    at::Tensor with_tangent;
  };
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const Argument& argument,
                            int64_t order) {
    context->saved_data["x"] = argument.with_tangent;
    context->saved_data["order"] = order;
    return gelu_derivative(x, order);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const int64_t order = context->saved_data["order"].toInt();
    return {gradients[0].mul(derived_gelu(context->saved_data["x"].toTensor(), order + 1)), {}, {}};
  }
};

at::Tensor derived_gelu(const at::Tensor& x, int64_t order) {
  kit::expects(order <= 2,
               "gelu: got a derivative above the second, wanted the first or the second");
  const Dual dual(x);
  const at::Tensor value =
      at::GradMode::is_enabled()
          ? GeluDerivative::apply(dual.value, GeluDerivative::Argument{x}, order)
          : gelu_derivative(dual.value, order);
  return with_tangent(value, dual.tangent.defined()
                                 ? derived_gelu(dual.value, order + 1).mul(dual.tangent)
                                 : at::Tensor());
}

}  // namespace

at::Tensor multiply(const at::Tensor& a, const at::Tensor& b) {
  if (!matrix::on_host(a)) {
    return at::matmul(a, b);
  }
  const Dual left(a);
  const Dual right(b);
  at::Tensor tangent;
  if (left.tangent.defined()) {
    tangent = multiply(left.tangent, right.value);
  }
  if (right.tangent.defined()) {
    const at::Tensor part = multiply(left.value, right.tangent);
    tangent = tangent.defined() ? tangent.add(part) : part;
  }
  const at::Tensor value = at::GradMode::is_enabled()
                               ? Product::apply(left.value, right.value, Factors{a, b})
                               : product_of(left.value, right.value);
  return with_tangent(value, tangent);
}

at::Tensor straight_through(const at::Tensor& x, const at::Tensor& rounded) {
  return rounded.add(x.sub(x.detach()));  // of exact zeros, which have x's derivatives
}

at::Tensor smooth_gelu(const at::Tensor& x) {
  return matrix::on_host(x) ? derived_gelu(x, 0) : at::gelu(x);
}

// 1 / (1 + e^-x) divided by 1 / (1 + e^x).
at::Tensor exponential_of(const at::Tensor& x) {
  return at::sigmoid(x).div(at::sigmoid(x.neg()));
}

at::Tensor logarithm_of(const at::Tensor& x) {
  return at::log1p(x.sub(1));
}

}  // namespace quench::decoder
