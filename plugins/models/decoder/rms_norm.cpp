#include "models/decoder/rms_norm.hpp"

#include <ATen/ops/_fused_rms_norm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/rsqrt.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/differentiable.hpp"
#include "models/decoder/double_backward/operations.hpp"
#include "models/decoder/row_sums.hpp"
#include "quench/kit/host.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::decoder {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr size_t kLanes = 8;             // partial sums of a row
constexpr uint64_t kTaskSize = 1 << 15;  // elements per task

template <typename T>
double mean_square(const T* row, size_t columns) {
  double partial[kLanes] = {};
  size_t c = 0;
  for (; c + kLanes <= columns; c += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<double>(row[c + lane]);
      partial[lane] += value * value;
    }
  }
  for (; c < columns; ++c) {
    const auto value = static_cast<double>(row[c]);
    partial[c % kLanes] += value * value;
  }
  const double sum = ((partial[0] + partial[1]) + (partial[2] + partial[3])) +
                     ((partial[4] + partial[5]) + (partial[6] + partial[7]));
  return sum / static_cast<double>(columns);
}

template <typename T>
void normalize_rows(const at::Tensor& x, const at::Tensor& weight, double eps, double offset,
                    NormRounding rounding, const at::Tensor& y) {
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const auto* from = static_cast<const T*>(x.const_data_ptr());
  const auto* scale = static_cast<const T*>(weight.const_data_ptr());
  auto* to = static_cast<T*>(y.data_ptr());
  const auto columns = static_cast<size_t>(weight.numel());
  const uint64_t rows = static_cast<uint64_t>(x.numel()) / columns;
  const uint64_t grain = std::max<uint64_t>(1, kTaskSize / columns);
  kit::parallel_for(rows, grain, [&](uint64_t begin, uint64_t end) {
    for (uint64_t row = begin; row < end; ++row) {
      const T* in = from + row * columns;
      T* out = to + row * columns;
      const auto inverse = static_cast<Wide>(1.0 / std::sqrt(mean_square(in, columns) + eps));
      for (size_t c = 0; c < columns; ++c) {
        Wide value = static_cast<Wide>(in[c]) * inverse;
        if (rounding == NormRounding::kBeforeWeight) {
          value = static_cast<Wide>(static_cast<T>(value));
        }
        out[c] = static_cast<T>(value * (static_cast<Wide>(scale[c]) + static_cast<Wide>(offset)));
      }
    }
  });
}

void normalize_on_device(const at::Tensor& x, const at::Tensor& weight, double eps, double offset,
                         NormRounding rounding, const at::Tensor& y) {
  const bool apart = rounding == NormRounding::kBeforeWeight;
  if (x.is_cuda() && offset == 0.0) {
    const auto [value, inverse] = at::_fused_rms_norm(
        x, {x.size(-1)}, apart ? std::nullopt : std::optional<at::Tensor>(weight), eps);
    at::Tensor to = y;
    apart ? static_cast<void>(at::mul_out(to, value, weight)) : static_cast<void>(to.copy_(value));
    return;
  }
  const at::ScalarType type = x.scalar_type();
  const at::Tensor wide = type == at::kDouble ? x : x.to(at::kFloat);
  at::Tensor value = wide.mul(at::rsqrt(at::mean(wide.mul(wide), {-1}, true).add_(eps)));
  if (apart) {
    value = value.to(type);
  }
  const at::Tensor scale = weight.to(value.scalar_type());
  y.copy_(value.mul(offset == 0.0 ? scale : scale.add(offset)));
}

void normalize(const at::Tensor& x, const at::Tensor& weight, double eps, double offset,
               NormRounding rounding, const at::Tensor& y) {
  if (!matrix::on_host(x)) {
    return normalize_on_device(x, weight, eps, offset, rounding, y);
  }
  switch (x.scalar_type()) {
    case at::kDouble:
      return normalize_rows<double>(x, weight, eps, offset, rounding, y);
    case at::kFloat:
      return normalize_rows<float>(x, weight, eps, offset, rounding, y);
    case at::kHalf:
      return normalize_rows<c10::Half>(x, weight, eps, offset, rounding, y);
    default:
      return normalize_rows<c10::BFloat16>(x, weight, eps, offset, rounding, y);
  }
}

// Operations that libtorch can differentiate. Rounding to the narrower type has derivative 1.
at::Tensor composed(const at::Tensor& x, const at::Tensor& parameter, double eps, double offset,
                    NormRounding rounding) {
  const at::Tensor weight = offset == 0.0 ? parameter : parameter.add(offset);
  const at::ScalarType type = x.scalar_type();
  const at::Tensor wide = type == at::kDouble ? x : x.to(at::kFloat);
  const at::Tensor value =
      wide.mul(at::rsqrt(at::mean(wide.mul(wide), {-1}, /*keepdim=*/true).add(eps)));
  return rounding == NormRounding::kBeforeWeight ? value.to(type).mul(weight)
                                                 : value.mul(weight).to(type);
}

// With r = 1 / sqrt(mean(x^2) + eps), x^ = x r and g = dy * (offset + weight):
//   dx = r (g - x^ mean(g x^)),   dweight = sum over rows of dy x^.
template <typename T>
void differentiate_rows(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                        double eps, double offset, const at::Tensor& dx,
                        const at::Tensor& dweight) {
  const auto* d = dy.const_data_ptr<T>();
  const auto* values = x.const_data_ptr<T>();
  const auto* scale = weight.const_data_ptr<T>();
  auto* to = dx.mutable_data_ptr<T>();
  const auto more = static_cast<T>(offset);
  const auto columns = static_cast<size_t>(weight.numel());
  std::vector<T> unwanted(dweight.defined() ? 0 : columns);
  T* sums_to = dweight.defined() ? dweight.mutable_data_ptr<T>() : unwanted.data();
  add_over_rows<T>(
      static_cast<uint64_t>(x.numel()) / columns, columns, sums_to, [&](uint64_t row, T* sums) {
        const T* dr = d + row * columns;
        const T* in = values + row * columns;
        T* out = to + row * columns;
        const auto inverse = static_cast<T>(1.0 / std::sqrt(mean_square(in, columns) + eps));
        double product[kLanes] = {};
        for (size_t c = 0; c < columns; ++c) {
          const T along = dr[c] * (in[c] * inverse);
          sums[c] += along;
          product[c % kLanes] += static_cast<double>(along * (scale[c] + more));
        }
        double mean = 0;
        for (const double part : product) {
          mean += part;
        }
        const auto back = static_cast<T>(mean / static_cast<double>(columns));
        for (size_t c = 0; c < columns; ++c) {
          out[c] = inverse * (dr[c] * (scale[c] + more) - in[c] * inverse * back);
        }
      });
}

// The inputs of the norm other than x; not variables of the graph.
struct RmsNormOperands {
  at::Tensor weight;
  at::Tensor gradient;  // undefined if it is not wanted
  double eps;
  double offset;
};

struct TrainedRmsNorm : torch::autograd::Function<TrainedRmsNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const RmsNormOperands& operands) {
    const auto& [weight, weight_gradient, eps, offset] = operands;
    at::Tensor y = at::empty_like(x);
    normalize(x, weight, eps, offset, NormRounding::kAfterWeight, y);
    context->saved_data["x"] = x;
    context->saved_data["weight"] = weight;
    context->saved_data["eps"] = eps;
    context->saved_data["offset"] = offset;
    context->saved_data["weight_gradient"] = weight_gradient;
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor x = context->saved_data["x"].toTensor();
    const at::Tensor weight = context->saved_data["weight"].toTensor();
    const at::Tensor to = context->saved_data["weight_gradient"].toTensor();
    const double eps = context->saved_data["eps"].toDouble();
    const double offset = context->saved_data["offset"].toDouble();
    const at::Tensor dy = gradients[0].contiguous();
    at::Tensor dx = at::empty_like(x);
    if (x.scalar_type() == at::kDouble) {
      differentiate_rows<double>(dy, x, weight, eps, offset, dx, to);
    } else {
      differentiate_rows<float>(dy, x, weight, eps, offset, dx, to);
    }
    return {dx, {}};
  }
};

at::Tensor recorded(const at::Tensor& x, const at::Tensor& weight, double eps, double offset,
                    NormRounding rounding) {
  const AutogradScope& scope = *AutogradScope::current();
  const bool own =
      matrix::on_host(x) && (x.scalar_type() == at::kDouble || x.scalar_type() == at::kFloat);
  if (scope.mode() == AutogradMode::kTraining && own) {
    return TrainedRmsNorm::apply(x.contiguous(),
                                 RmsNormOperands{weight, scope.gradient(weight), eps, offset});
  }
  if (scope.mode() == AutogradMode::kDoubleBackward && own) {
    return double_backward_norm(x, weight, {}, eps, Centering::kNone, scope.vectors(), offset);
  }
  if (x.is_cuda() && !composing() && offset == 0.0 && x.scalar_type() == weight.scalar_type()) {
    return std::get<0>(at::_fused_rms_norm(x, {x.size(-1)}, tracked(weight), eps));
  }
  return composed(x, tracked(weight), eps, offset, rounding);
}

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps,
                    NormRounding rounding, const at::Tensor& into, double offset) {
  if (recording()) {
    return recorded(x, weight, eps, offset, rounding);
  }
  at::Tensor y = into.defined() ? into : at::empty_like(x);
  normalize(x, weight, eps, offset, rounding, y);
  return y;
}

}  // namespace quench::decoder
