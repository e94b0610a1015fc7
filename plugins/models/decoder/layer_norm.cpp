#include "models/decoder/layer_norm.hpp"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/rsqrt.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/double_backward/operations.hpp"
#include "models/decoder/norm_kernels.hpp"
#include "models/decoder/row_sums.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::decoder {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr uint64_t kRows = 32;  // rows per task

// The inputs of the norm other than x; not variables of the graph. All but eps may be undefined.
struct LayerNormOperands {
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor weight_gradient;
  at::Tensor bias_gradient;
  double eps;
};

template <typename T>
void normalize_rows(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                    double eps, const at::Tensor& y) {
  const auto columns = static_cast<size_t>(x.size(1));
  const T* scale = weight.defined() ? weight.const_data_ptr<T>() : nullptr;
  const T* shift = bias.defined() ? bias.const_data_ptr<T>() : nullptr;
  const T* from = x.const_data_ptr<T>();
  T* to = y.mutable_data_ptr<T>();
  kit::parallel_for(static_cast<uint64_t>(x.size(0)), kRows, [&](uint64_t begin, uint64_t end) {
    for (uint64_t row = begin; row < end; ++row) {
      T* out = to + row * columns;
      kernel::normalize(from + row * columns, /*centered=*/true, eps, columns, out);
      kernel::weigh(scale, shift, columns, out);
    }
  });
}

void normalize(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double eps,
               const at::Tensor& y) {
  if (x.scalar_type() == at::kDouble) {
    normalize_rows<double>(x, weight, bias, eps, y);
  } else {
    normalize_rows<float>(x, weight, bias, eps, y);
  }
}

// Computes dx. Adds the column sums of dy x^ to `weight_gradient` and those of dy to
// `bias_gradient`, either of which may be undefined. Recomputes x^ from x.
template <typename T>
at::Tensor backward_of(const at::Tensor& dy, const at::Tensor& x, const LayerNormOperands& of) {
  at::Tensor dx = at::empty_like(dy);
  const auto columns = static_cast<size_t>(x.size(1));
  const T* d = dy.const_data_ptr<T>();
  const T* from = x.const_data_ptr<T>();
  const T* scale = of.weight.defined() ? of.weight.const_data_ptr<T>() : nullptr;
  T* to = dx.mutable_data_ptr<T>();
  const bool wanted = of.weight_gradient.defined();
  std::vector<T> unwanted(wanted ? 0 : columns);
  add_over_rows<T>(static_cast<uint64_t>(x.size(0)), columns,
                   wanted ? of.weight_gradient.mutable_data_ptr<T>() : unwanted.data(),
                   [&](uint64_t row, T* sums) {
                     std::vector<T> normal(columns);
                     const double r = kernel::normalize(from + row * columns, /*centered=*/true,
                                                        of.eps, columns, normal.data());
                     kernel::normalize_backward(d + row * columns, normal.data(), r,
                                                /*centered=*/true, scale, columns, sums,
                                                to + row * columns);
                   });
  if (of.bias_gradient.defined()) {
    add_column_sums(dy, of.bias_gradient);
  }
  return dx;
}

struct TrainedLayerNorm : torch::autograd::Function<TrainedLayerNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const LayerNormOperands& operands) {
    const at::Tensor held = x.contiguous();
    context->saved_data["x"] = held;
    context->saved_data["weight"] = operands.weight;
    context->saved_data["weight_gradient"] = operands.weight_gradient;
    context->saved_data["bias_gradient"] = operands.bias_gradient;
    context->saved_data["eps"] = operands.eps;
    at::Tensor y = at::empty_like(held);
    normalize(held, operands.weight, operands.bias, operands.eps, y);
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = [context](const char* name) { return context->saved_data[name].toTensor(); };
    const LayerNormOperands of = {saved("weight"), at::Tensor(), saved("weight_gradient"),
                                  saved("bias_gradient"), context->saved_data["eps"].toDouble()};
    const at::Tensor dy = gradients[0].contiguous();
    const at::Tensor x = saved("x");
    return {x.scalar_type() == at::kDouble ? backward_of<double>(dy, x, of)
                                           : backward_of<float>(dy, x, of),
            {}};
  }
};

// For types narrower than float32: computes in float32 and rounds once.
at::Tensor normalize_narrow(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                            double eps) {
  const auto widened = [](const at::Tensor& y) { return y.defined() ? y.to(at::kFloat) : y; };
  const at::Tensor y = at::empty_like(x);
  const at::Tensor scale = widened(weight);
  const at::Tensor shift = widened(bias);
  const auto columns = static_cast<size_t>(x.size(1));
  kit::for_row_blocks(x, [&](int64_t first, int64_t count) {
    const at::Tensor rows = x.narrow(0, first, count).to(at::kFloat);
    for (int64_t row = 0; row < count; ++row) {
      float* at = rows.mutable_data_ptr<float>() + row * x.size(1);
      kernel::normalize(at, /*centered=*/true, eps, columns, at);
      kernel::weigh(scale.defined() ? scale.const_data_ptr<float>() : nullptr,
                    shift.defined() ? shift.const_data_ptr<float>() : nullptr, columns, at);
    }
    y.narrow(0, first, count).copy_(rows);
  });
  return y;
}

// Composed operations, which can be differentiated in forward mode too.
at::Tensor composed(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                    double eps) {
  const at::Tensor centered = x.sub(at::mean(x, {1}, /*keepdim=*/true));
  const at::Tensor variance = at::mean(centered.mul(centered), {1}, /*keepdim=*/true);
  const at::Tensor y = centered.mul(at::rsqrt(variance.add(eps)));
  return weight.defined() ? y.mul(weight).add(bias) : y;
}

}  // namespace

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      double eps) {
  const AutogradScope* scope = AutogradScope::current();
  if (!matrix::on_host(x)) {
    return composing() ? composed(x, tracked(weight), tracked(bias), eps)
                       : at::layer_norm(x, {x.size(1)}, tracked(weight), tracked(bias), eps);
  }
  switch (current_mode()) {
    case AutogradMode::kTraining: {
      const bool weighted = weight.defined();
      const LayerNormOperands operands = {weight, bias,
                                          weighted ? scope->gradient(weight) : at::Tensor(),
                                          weighted ? scope->gradient(bias) : at::Tensor(), eps};
      return TrainedLayerNorm::apply(x, operands);
    }
    case AutogradMode::kDoubleBackward:
      return double_backward_norm(x, weight, bias, eps, Centering::kMean, scope->vectors());
    case AutogradMode::kComposed:
    case AutogradMode::kElementary:
      return composed(x, tracked(weight), tracked(bias), eps);
    default:
      break;
  }
  if (x.scalar_type() != at::kDouble && x.scalar_type() != at::kFloat) {
    return normalize_narrow(x, weight, bias, eps);
  }
  at::Tensor y = at::empty_like(x);
  normalize(x, weight, bias, eps, y);
  return y;
}

}  // namespace quench::decoder
