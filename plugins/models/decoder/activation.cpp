#include "models/decoder/activation.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>

#include <numbers>

#include "models/decoder/curved/operations.hpp"
#include "models/decoder/recorder.hpp"

namespace quench::decoder {

namespace {

// x Φ(x), with φ and Φ the normal density and its integral: Φ + x φ, and φ (2 - x²).
at::Tensor curved_gelu(const at::Tensor& x) {
  Pointwise made;
  {
    const at::NoGradGuard constant;
    const at::Tensor held = x.detach();
    const at::Tensor square = held.mul(held);
    const at::Tensor density =
        square.mul(-0.5).exp_().mul_(0.5 * std::numbers::inv_sqrtpi * std::numbers::sqrt2);
    made.y = at::gelu(held);
    made.first = held.mul(std::numbers::sqrt2 / 2).erf_().add_(1).mul_(0.5).add_(held.mul(density));
    made.second = density.mul(square.neg_().add_(2));
  }
  return curved_pointwise(x, made);
}

// x s with s = 1 / (1 + exp(-x)): s (1 + x (1 - s)), and s (1 - s) (2 + x (1 - 2 s)).
at::Tensor curved_silu(const at::Tensor& x) {
  Pointwise made;
  {
    const at::NoGradGuard constant;
    const at::Tensor held = x.detach();
    const at::Tensor s = at::sigmoid(held);
    const at::Tensor rest = s.neg().add_(1);
    made.y = held.mul(s);
    made.first = held.mul(rest).add_(1).mul_(s);
    made.second = rest.sub(s).mul_(held).add_(2).mul_(s).mul_(rest);
  }
  return curved_pointwise(x, made);
}

}  // namespace

at::Tensor gelu(at::Tensor x) {
  if (current_form() == Form::kCurved) {
    return curved_gelu(x);
  }
  return recording() ? at::gelu(x) : at::gelu_(x);
}

at::Tensor gated(at::Tensor gate, at::Tensor up) {
  if (current_form() == Form::kElementary) {
    return gate.mul(at::sigmoid(gate)).mul(up);
  }
  if (current_form() == Form::kCurved) {
    return curved_silu(gate).mul(up);
  }
  return recording() ? at::silu(gate).mul(up) : up.mul_(at::silu_(gate));
}

at::Tensor clip(at::Tensor x, double limit) {
  return recording() ? at::clamp(x, -limit, limit) : x.clamp_(-limit, limit);
}

}  // namespace quench::decoder
