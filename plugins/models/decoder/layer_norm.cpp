#include "models/decoder/layer_norm.hpp"

#include <ATen/ops/layer_norm.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/rsqrt.h>
#include <torch/csrc/autograd/custom_function.h>

#include <array>
#include <tuple>

#include "models/decoder/curved/operations.hpp"
#include "models/decoder/recorder.hpp"
#include "models/decoder/row_sums.hpp"

namespace quench::decoder {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Adds the sums over rows of dy * (x - mean) * inverse and of dy. [N, C], mean and inverse [N].
template <typename T>
void add_gradients(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& mean,
                   const at::Tensor& inverse, const at::Tensor& weight, const at::Tensor& bias) {
  const auto* d = dy.const_data_ptr<T>();
  const auto* values = x.const_data_ptr<T>();
  const auto* centers = mean.const_data_ptr<T>();
  const auto* scales = inverse.const_data_ptr<T>();
  const auto columns = static_cast<uint64_t>(x.size(1));
  add_over_rows<T>(static_cast<uint64_t>(x.size(0)), columns, weight.mutable_data_ptr<T>(),
                   [&](uint64_t row, T* sums) {
                     const T center = centers[row];
                     const T scale = scales[row];
                     const uint64_t first = row * columns;
                     for (uint64_t c = 0; c < columns; ++c) {
                       sums[c] += d[first + c] * ((values[first + c] - center) * scale);
                     }
                   });
  add_column_sums(dy, bias);
}

// What the norm needs beside x: no variables of the graph. All but eps may be undefined.
struct Operands {
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor weight_gradient;
  at::Tensor bias_gradient;
  double eps;
};

struct TrainedLayerNorm : torch::autograd::Function<TrainedLayerNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const Operands& operands) {
    const auto& [weight, bias, weight_gradient, bias_gradient, eps] = operands;
    const auto [y, mean, inverse] = at::native_layer_norm(x, {x.size(1)}, weight, bias, eps);
    context->saved_data["x"] = x;
    context->saved_data["weight"] = weight;
    context->saved_data["bias"] = bias;
    context->saved_data["mean"] = mean;
    context->saved_data["inverse"] = inverse;
    context->saved_data["weight_gradient"] = weight_gradient;
    context->saved_data["bias_gradient"] = bias_gradient;
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = [context](const char* name) { return context->saved_data[name].toTensor(); };
    const at::Tensor x = saved("x");
    const at::Tensor mean = saved("mean");
    const at::Tensor inverse = saved("inverse");
    const at::Tensor dy = gradients[0].contiguous();
    const at::Tensor weight_gradient = saved("weight_gradient");
    // libtorch would add up the weights' gradients in one part per thread.
    const bool own =
        x.is_cpu() && weight_gradient.defined() && weight_gradient.scalar_type() == x.scalar_type();
    const bool theirs = weight_gradient.defined() && !own;
    const auto [dx, dweight, dbias] = at::native_layer_norm_backward(
        dy, x, {x.size(1)}, mean, inverse, saved("weight"), saved("bias"), {true, theirs, theirs});
    if (own && x.scalar_type() == at::kDouble) {
      add_gradients<double>(dy, x, mean, inverse, weight_gradient, saved("bias_gradient"));
    } else if (own) {
      add_gradients<float>(dy, x, mean, inverse, weight_gradient, saved("bias_gradient"));
    } else if (theirs) {
      at::Tensor held = weight_gradient;
      held.add_(dweight);
      held = saved("bias_gradient");
      held.add_(dbias);
    }
    return {dx, {}};
  }
};

// In steps that can be differentiated forwards as well.
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
  switch (current_form()) {
    case Form::kTraining: {
      const Recorder& recorder = *Recorder::current();
      const bool weighted = weight.defined();
      const Operands operands = {weight, bias, weighted ? recorder.gradient(weight) : at::Tensor(),
                                 weighted ? recorder.gradient(bias) : at::Tensor(), eps};
      return TrainedLayerNorm::apply(x, operands);
    }
    case Form::kCurved:
      if (x.is_cpu()) {
        return curved_norm(x, weight, bias, eps, Centering::kMean, Recorder::current()->vectors());
      }
      [[fallthrough]];
    case Form::kComposed:
    case Form::kElementary:
      return composed(x, tracked(weight), tracked(bias), eps);
    default:
      return at::layer_norm(x, {x.size(1)}, weight, bias, eps);
  }
}

}  // namespace quench::decoder
