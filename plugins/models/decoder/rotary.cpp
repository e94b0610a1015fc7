#include "models/decoder/rotary.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/pow.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/rotary_by_kernel.hpp"
#include "quench/kit/host.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::decoder {

at::Tensor inverse_frequencies(int64_t dims, double theta) {
  const at::Tensor exponent =
      at::arange(0, dims, 2, at::TensorOptions(at::kFloat)).div_(static_cast<double>(dims));
  return at::pow(theta, exponent).reciprocal_();
}

Rotary::Rotary(at::Tensor frequencies, double magnitude, at::ScalarType dtype, at::Device device)
    : frequencies_(std::move(frequencies)), magnitude_(magnitude), dtype_(dtype), device_(device) {}

namespace {

constexpr uint64_t kTokens = 64;  // tokens per task

// Applied to each angle in float64, then rounded, so that no vector library and no position within
// a vector changes a bit.
template <typename Function>
at::Tensor each(const at::Tensor& angles, Function function) {
  const at::Tensor values = at::empty(angles.sizes(), angles.options());
  const auto* from = angles.const_data_ptr<float>();
  auto* to = values.mutable_data_ptr<float>();
  kit::parallel_for(static_cast<uint64_t>(angles.numel()), kTokens * 32,
                    [&](uint64_t begin, uint64_t end) {
                      for (uint64_t i = begin; i < end; ++i) {
                        to[i] = static_cast<float>(function(static_cast<double>(from[i])));
                      }
                    });
  return values;
}

}  // namespace

Angles Rotary::compute(const at::Tensor& positions) const {
  const c10::InferenceMode mode(false);  // recorded forwards use the table too
  const at::Tensor angle = positions.to(at::kFloat).unsqueeze(1).mul(frequencies_.unsqueeze(0));
  const auto convert = [this](const at::Tensor& value) {
    return (magnitude_ == 1.0 ? value : value.mul(magnitude_)).to(dtype_).to(device_);
  };
  return {convert(each(angle, [](double x) { return std::cos(x); })),
          convert(each(angle, [](double x) { return std::sin(x); }))};
}

Angles Rotary::angles(const Batch& batch) {
  const at::NoGradGuard constant;
  const int64_t half = frequencies_.size(0);
  const int64_t length = batch.length();
  if (!batch.positions().empty()) {
    const std::span<const int32_t> positions = batch.positions();
    if (!std::ranges::equal(positions, own_positions_)) {  // the blocks of a batch ask in turn
      own_positions_.assign(positions.begin(), positions.end());
      own_ = compute(
          at::from_blob(own_positions_.data(), {batch.tokens()}, at::TensorOptions(at::kInt)));
    }
    return {own_.cos.view({batch.rows(), length, 1, half}),
            own_.sin.view({batch.rows(), length, 1, half})};
  }
  if (!table_.cos.defined() || table_.cos.size(0) < length) {
    const auto grown = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length)));
    outgrown_.push_back(table_);
    table_ = compute(at::arange(grown, at::TensorOptions(at::kInt)));
  }
  return {table_.cos.narrow(0, 0, length).view({1, length, 1, half}),
          table_.sin.narrow(0, 0, length).view({1, length, 1, half})};
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Each product is rounded on its own, without fused multiply-add, like the reference.
at::Tensor rotated_low(const at::Tensor& low, const at::Tensor& high, const Angles& angles) {
  return low.mul(angles.cos).sub(high.mul(angles.sin));
}
at::Tensor rotated_high(const at::Tensor& low, const at::Tensor& high, const Angles& angles) {
  return high.mul(angles.cos).add(low.mul(angles.sin));
}

// y = x with the first 2*half elements of each head rotated by the angles, or by the opposite
// angles. x and y [B,T,H,D] have inner stride 1 and may be the same tensor. cos and sin [B or 1, T,
// 1, half] of type A, no narrower than T, contiguous. Each operation rounds to A.
template <typename T, typename A>
void turn(const at::Tensor& x, const Angles& angles, bool back, const at::Tensor& y) {
  const auto* from = x.const_data_ptr<T>();
  auto* to = y.mutable_data_ptr<T>();
  const auto* cos = angles.cos.const_data_ptr<A>();
  const auto* sin = angles.sin.const_data_ptr<A>();
  const int64_t length = x.size(1);
  const int64_t heads = x.size(2);
  const int64_t width = x.size(3);
  const int64_t half = angles.cos.size(3);
  const bool shared = angles.cos.size(0) == 1;
  const auto tokens = static_cast<uint64_t>(x.size(0) * length);
  kit::parallel_for(tokens, kTokens, [&](uint64_t begin, uint64_t end) {
    for (auto token = static_cast<int64_t>(begin); token < static_cast<int64_t>(end); ++token) {
      const int64_t row = token / length;
      const int64_t place = token % length;
      const int64_t angle = (shared ? place : token) * half;
      for (int64_t head = 0; head < heads; ++head) {
        const T* in = from + row * x.stride(0) + place * x.stride(1) + head * x.stride(2);
        T* out = to + row * y.stride(0) + place * y.stride(1) + head * y.stride(2);
        for (int64_t i = 0; i < half; ++i) {
          const A c = cos[angle + i];
          const A s = back ? -sin[angle + i] : sin[angle + i];
          const auto low = static_cast<A>(in[i]);
          const auto high = static_cast<A>(in[half + i]);
          out[half + i] = static_cast<T>(high * c + low * s);
          out[i] = static_cast<T>(low * c - high * s);
        }
        if (in != out) {
          std::copy(in + 2 * half, in + width, out + 2 * half);
        }
      }
    }
  });
}

// Whether `turn` handles these types: not on a device, and not for angles narrower than x.
bool turns(const at::Tensor& x, const Angles& angles) {
  const at::ScalarType type = angles.cos.scalar_type();
  return matrix::on_host(x) &&
         (type == x.scalar_type() || (type == at::kFloat && x.scalar_type() != at::kDouble));
}

void turn_into(const at::Tensor& x, const Angles& angles, bool back, const at::Tensor& y) {
  const bool same = angles.cos.scalar_type() == x.scalar_type();
  switch (x.scalar_type()) {
    case at::kDouble:
      return turn<double, double>(x, angles, back, y);
    case at::kFloat:
      return turn<float, float>(x, angles, back, y);
    case at::kHalf:
      return same ? turn<c10::Half, c10::Half>(x, angles, back, y)
                  : turn<c10::Half, float>(x, angles, back, y);
    default:
      return same ? turn<c10::BFloat16, c10::BFloat16>(x, angles, back, y)
                  : turn<c10::BFloat16, float>(x, angles, back, y);
  }
}

at::Tensor turned(const at::Tensor& x, const Angles& angles, bool back) {
  if (!matrix::on_host(x)) {
    at::Tensor y = x.clone(at::MemoryFormat::Contiguous);
    const bool done = rotate_by_kernel(y, back ? Angles{angles.cos, angles.sin.neg()} : angles);
    TORCH_CHECK(done, "rotary: no kernel for these types");
    return y;
  }
  const at::Tensor held = x.stride(3) == 1 ? x : x.contiguous();
  at::Tensor y = at::empty(x.sizes(), x.options());
  turn_into(held, angles, back, y);
  return y;
}

void keep(AutogradContext* context, const Angles& angles, bool back) {
  context->saved_data["cos"] = angles.cos;
  context->saved_data["sin"] = angles.sin;
  context->saved_data["back"] = back;
}
Angles kept_angles(AutogradContext* context) {
  return {context->saved_data["cos"].toTensor(), context->saved_data["sin"].toTensor()};
}

// A rotation. Its backward rotates in the opposite direction.
struct Rotation : torch::autograd::Function<Rotation> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const Angles& angles,
                            bool back) {
    keep(context, angles, back);
    return turned(x, angles, back);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const bool back = context->saved_data["back"].toBool();
    return {Rotation::apply(gradients[0], kept_angles(context), !back), {}, {}};
  }
};

// Takes fused heads apart and rotates queries and keys. Each of the two functions is the other's
// backward, so that derivatives go to their places in one pass on all of the host's threads;
// libtorch would join them on one.
struct TakenApart : torch::autograd::Function<TakenApart> {
  static variable_list forward(AutogradContext* context, const at::Tensor& fused,
                               const Angles& angles, bool back);
  static variable_list backward(AutogradContext* context, variable_list gradients);
};
struct Joined : torch::autograd::Function<Joined> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const Angles& angles, bool back);
  static variable_list backward(AutogradContext* context, variable_list gradients);
};

variable_list TakenApart::forward(AutogradContext* context, const at::Tensor& fused,
                                  const Angles& angles, bool back) {
  keep(context, angles, back);
  const int64_t head = fused.size(3) / 3;
  return {turned(fused.narrow(3, 0, head), angles, back),
          turned(fused.narrow(3, head, head), angles, back),
          fused.narrow(3, 2 * head, head).detach()};
}
variable_list TakenApart::backward(AutogradContext* context, variable_list gradients) {
  const bool back = context->saved_data["back"].toBool();
  return {
      Joined::apply(gradients[0], gradients[1], gradients[2], kept_angles(context), !back), {}, {}};
}

at::Tensor Joined::forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                           const at::Tensor& v, const Angles& angles, bool back) {
  keep(context, angles, back);
  const int64_t head = q.size(3);
  at::Tensor fused = at::empty({q.size(0), q.size(1), q.size(2), 3 * head}, q.options());
  const auto put = [&](int64_t place, const at::Tensor& x, const Angles& by) {
    turn_into(x.stride(3) == 1 ? x : x.contiguous(), by, back, fused.narrow(3, place * head, head));
  };
  put(0, q, angles);
  put(1, k, angles);
  put(2, v, {angles.cos.narrow(3, 0, 0), angles.sin.narrow(3, 0, 0)});
  return fused;
}
variable_list Joined::backward(AutogradContext* context, variable_list gradients) {
  const bool back = context->saved_data["back"].toBool();
  variable_list made = TakenApart::apply(gradients[0], kept_angles(context), !back);
  made.resize(5);
  return made;
}

}  // namespace

at::Tensor rotate(const at::Tensor& x, const Angles& angles) {
  const int64_t half = angles.cos.size(3);
  const at::Tensor low = x.narrow(3, 0, half);
  const at::Tensor high = x.narrow(3, half, half);
  const bool own = turns(x, angles);
  const bool by_kernel = x.is_cuda() && has_rotation_kernel(x, angles);
  if (current_mode() == AutogradMode::kTraining && by_kernel) {
    return Rotation::apply(x, angles, /*back=*/false);
  }
  if (trains() && own) {
    return Rotation::apply(x, angles, /*back=*/false);
  }
  if (recording()) {
    std::vector<at::Tensor> parts = {rotated_low(low, high, angles),
                                     rotated_high(low, high, angles)};
    if (2 * half < x.size(3)) {
      parts.push_back(x.narrow(3, 2 * half, x.size(3) - 2 * half));
    }
    const at::Tensor whole = at::cat(parts, 3);
    return whole.scalar_type() == x.scalar_type() ? whole : whole.to(x.scalar_type());
  }
  if (own && x.stride(3) == 1) {
    turn_into(x, angles, /*back=*/false, x);
    return x;
  }
  if (!own && rotate_by_kernel(x, angles)) {
    return x;
  }
  const at::Tensor new_low = low.mul(angles.cos).sub_(high.mul(angles.sin));
  const at::Tensor new_high = high.mul(angles.cos).add_(low.mul(angles.sin));
  low.copy_(new_low);
  high.copy_(new_high);
  return x;
}

std::array<at::Tensor, 3> rotated_parts(const at::Tensor& fused, const Angles& angles) {
  if (trains() && turns(fused, angles)) {
    const variable_list made = TakenApart::apply(fused, angles, /*back=*/false);
    return {made[0], made[1], made[2]};
  }
  const std::vector<at::Tensor> parts = fused.split(fused.size(3) / 3, 3);
  return {rotate(parts[0], angles), rotate(parts[1], angles), parts[2]};
}

}  // namespace quench::decoder
