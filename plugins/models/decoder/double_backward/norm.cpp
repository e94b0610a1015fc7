#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/decoder/double_backward/operations.hpp"
#include "models/decoder/double_backward/ordered_sum.hpp"
#include "models/decoder/norm_kernels.hpp"
#include "models/decoder/row_sums.hpp"
#include "quench/kit/host.hpp"

namespace quench::decoder {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct DoubleBackwardNorm : torch::CustomClassHolder {
  at::Tensor weight;  // [C]; ones if the norm has no weight
  at::Tensor factor;  // what multiplies: the weight and the offset
  bool weighted = false;
  at::Tensor bias;  // undefined if there is none
  double eps = 0;
  bool centered = false;
  SharedHvpVectors vectors;
};

using Shared = c10::intrusive_ptr<DoubleBackwardNorm>;

Shared norm_of(AutogradContext* context) {
  return c10::static_intrusive_pointer_cast<DoubleBackwardNorm>(
      context->saved_data["norm"].toCapsule());
}

// The mean in float64 of each(c), in a fixed order.
template <typename Each>
double mean_over(size_t columns, Each&& each) {
  return ordered_sum(columns, each) / static_cast<double>(columns);
}

// Computes x^ [N, C] and r [N] for the rows of x.
template <typename T>
void normalize(const at::Tensor& x, const DoubleBackwardNorm& norm, const at::Tensor& normal,
               const at::Tensor& inverse) {
  const auto columns = static_cast<size_t>(norm.weight.numel());
  const auto* from = x.const_data_ptr<T>();
  auto* to = normal.mutable_data_ptr<T>();
  auto* scales = inverse.mutable_data_ptr<double>();
  kit::parallel_for(static_cast<uint64_t>(inverse.numel()), kSumRange,
                    [&](uint64_t begin, uint64_t end) {
                      for (uint64_t row = begin; row < end; ++row) {
                        scales[row] = kernel::normalize(from + row * columns, norm.centered,
                                                        norm.eps, columns, to + row * columns);
                      }
                    });
}

// Calls row(n, sums) for each row. The `sums` [C] are added up in a fixed order and then added to
// `to`, which may be undefined.
template <typename T, typename Row>
void over_rows(const at::Tensor& like, size_t columns, const at::Tensor& to, Row&& row) {
  std::vector<T> unwanted(to.defined() ? 0 : columns);
  add_over_rows<T>(static_cast<uint64_t>(like.numel()) / columns, columns,
                   to.defined() ? to.mutable_data_ptr<T>() : unwanted.data(), row);
}

// dx = P(dy weight). The column sums of dy x^ go to the weight, those of dy to the bias.
template <typename T>
at::Tensor backward_of(const DoubleBackwardNorm& norm, const at::Tensor& dy,
                       const at::Tensor& normal, const at::Tensor& inverse) {
  at::Tensor dx = at::empty_like(dy);
  const auto columns = static_cast<size_t>(norm.weight.numel());
  const auto* d = dy.const_data_ptr<T>();
  const auto* normals = normal.const_data_ptr<T>();
  const auto* scales = inverse.const_data_ptr<double>();
  const auto* weight = norm.factor.const_data_ptr<T>();
  auto* out = dx.mutable_data_ptr<T>();
  over_rows<T>(dy, columns, norm.weighted ? norm.vectors->to(norm.weight) : at::Tensor(),
               [&](uint64_t row, T* sums) {
                 const uint64_t first = row * columns;
                 kernel::normalize_backward(d + first, normals + first, scales[row], norm.centered,
                                            weight, columns, sums, out + first);
               });
  if (const at::Tensor to = norm.vectors->to(norm.bias); to.defined()) {
    add_column_sums(dy.reshape({-1, norm.weight.numel()}), to);
  }
  return dx;
}

struct Moved {
  at::Tensor y;  // the change of y
  at::Tensor x;  // the derivative of Σ dx · change by x
};

// If x changes by u, the weight by v and the bias by b, then x^ changes by w = P(u) and y by w
// weight + x^ v + b. Let g = dy weight, a = mean(u x^), p = Σ g u' and q = Σ g x^, where u' is u
// minus its mean if rows are centered. The sum of dx · u is r (p - q a). Its derivative by x is
//   - r² x^ (p - q a) / C - r a P(g) - r q w / C,
// plus P(dy v), which comes from dy v through x^.
template <typename T>
Moved change_of(const DoubleBackwardNorm& norm, const at::Tensor& dy, const at::Tensor& normal,
                const at::Tensor& inverse, const at::Tensor& change) {
  Moved moved = {at::empty_like(dy), at::empty_like(dy)};
  const auto columns = static_cast<size_t>(norm.weight.numel());
  const double count = static_cast<double>(columns);
  const auto* d = dy.const_data_ptr<T>();
  const auto* normals = normal.const_data_ptr<T>();
  const auto* scales = inverse.const_data_ptr<double>();
  const auto* changes = change.const_data_ptr<T>();
  const auto* weight = norm.factor.const_data_ptr<T>();
  const at::Tensor along = norm.weighted ? norm.vectors->direction(norm.weight) : at::Tensor();
  const at::Tensor shift = norm.vectors->direction(norm.bias);
  const std::vector<T> none(columns, T{0});
  const T* v = along.defined() ? along.const_data_ptr<T>() : none.data();
  const T* b = shift.defined() ? shift.const_data_ptr<T>() : none.data();
  auto* y = moved.y.mutable_data_ptr<T>();
  auto* x = moved.x.mutable_data_ptr<T>();
  over_rows<T>(
      dy, columns, norm.weighted ? norm.vectors->to(norm.weight) : at::Tensor(),
      [&](uint64_t row, T* sums) {
        const T* dr = d + row * columns;
        const T* hat = normals + row * columns;
        const T* u = changes + row * columns;
        T* w = y + row * columns;  // the place of w until it becomes the change of y
        T* to = x + row * columns;
        const double r = scales[row];
        kernel::project(u, hat, r, norm.centered, columns, w);
        const double a = mean_over(columns, [&](size_t c) { return u[c] * hat[c]; });
        const double mean =
            norm.centered ? mean_over(columns, [&](size_t c) { return u[c]; }) : 0.0;
        const double p = ordered_sum(
            columns, [&](size_t c) { return dr[c] * weight[c] * (u[c] - static_cast<T>(mean)); });
        const double q = ordered_sum(columns, [&](size_t c) { return dr[c] * weight[c] * hat[c]; });
        for (size_t c = 0; c < columns; ++c) {
          to[c] = dr[c] * (v[c] - static_cast<T>(r * a) * weight[c]);
        }
        kernel::project(to, hat, r, norm.centered, columns, to);
        const auto by_normal = static_cast<T>(r * r * (p - q * a) / count);
        const auto by_change = static_cast<T>(r * q / count);
        for (size_t c = 0; c < columns; ++c) {
          to[c] -= by_normal * hat[c] + by_change * w[c];
          sums[c] += dr[c] * w[c];
          w[c] = w[c] * weight[c] + hat[c] * v[c] + b[c];
        }
      });
  return moved;
}

// (dy, x) -> dx.
struct NormBackward : torch::autograd::Function<NormBackward> {
  static variable_list forward(AutogradContext* context, const at::Tensor& dy, const at::Tensor&,
                               const Shared& norm, const at::Tensor& normal,
                               const at::Tensor& inverse) {
    context->saved_data["dy"] = dy;
    context->saved_data["normal"] = normal;
    context->saved_data["inverse"] = inverse;
    context->saved_data["norm"] = c10::IValue::make_capsule(norm);
    return {dy.scalar_type() == at::kDouble ? backward_of<double>(*norm, dy, normal, inverse)
                                            : backward_of<float>(*norm, dy, normal, inverse),
            at::zeros({}, dy.options())};
  }

  static variable_list backward(AutogradContext* context, variable_list changes) {
    const at::Tensor dy = context->saved_data["dy"].toTensor();
    const at::Tensor normal = context->saved_data["normal"].toTensor();
    const at::Tensor inverse = context->saved_data["inverse"].toTensor();
    const Shared norm = norm_of(context);
    const at::Tensor change = changes[0].contiguous();
    if (dy.scalar_type() == at::kDouble) {
      const auto moved = change_of<double>(*norm, dy, normal, inverse, change);
      return {moved.y, moved.x, {}, {}, {}};
    }
    const auto moved = change_of<float>(*norm, dy, normal, inverse, change);
    return {moved.y, moved.x, {}, {}, {}};
  }
};

struct NormForward : torch::autograd::Function<NormForward> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const Shared& norm) {
    const int64_t rows = x.numel() / norm->weight.numel();
    at::Tensor normal = at::empty(x.sizes(), x.options());
    at::Tensor inverse = at::empty({rows}, x.options().dtype(at::kDouble));
    if (x.scalar_type() == at::kDouble) {
      normalize<double>(x, *norm, normal, inverse);
    } else {
      normalize<float>(x, *norm, normal, inverse);
    }
    context->saved_data["x"] = x;
    context->saved_data["normal"] = normal;
    context->saved_data["inverse"] = inverse;
    context->saved_data["norm"] = c10::IValue::make_capsule(norm);
    at::Tensor y = normal.mul(norm->factor);
    return norm->bias.defined() ? y.add_(norm->bias) : y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor normal = context->saved_data["normal"].toTensor();
    const at::Tensor inverse = context->saved_data["inverse"].toTensor();
    const Shared norm = norm_of(context);
    const at::Tensor dy = gradients[0].contiguous();
    if (at::GradMode::is_enabled()) {
      const variable_list made =
          NormBackward::apply(dy, context->saved_data["x"].toTensor(), norm, normal, inverse);
      norm->vectors->add_root(made[1]);
      return {made[0], {}};
    }
    return {dy.scalar_type() == at::kDouble ? backward_of<double>(*norm, dy, normal, inverse)
                                            : backward_of<float>(*norm, dy, normal, inverse),
            {}};
  }
};

}  // namespace

at::Tensor double_backward_norm(const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& bias, double eps, Centering centering,
                                const SharedHvpVectors& vectors, double offset) {
  // Here, where the stage is known, and not in the backward.
  vectors->to(weight);
  vectors->to(bias);
  const Shared norm = c10::make_intrusive<DoubleBackwardNorm>();
  norm->weighted = weight.defined();
  norm->weight = weight.defined() ? weight : at::ones({x.size(-1)}, x.options());
  norm->factor = offset == 0.0 ? norm->weight : norm->weight.add(offset);
  norm->bias = bias;
  norm->eps = eps;
  norm->centered = centering == Centering::kMean;
  norm->vectors = vectors;
  return NormForward::apply(x.contiguous(), norm);
}

}  // namespace quench::decoder
