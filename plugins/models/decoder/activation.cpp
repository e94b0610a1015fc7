#include "models/decoder/activation.hpp"

#include <ATen/ops/clamp.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>

#include "models/decoder/recorder.hpp"

namespace quench::decoder {

at::Tensor gelu(at::Tensor x) {
  return recording() ? at::gelu(x) : at::gelu_(x);
}

at::Tensor gated(at::Tensor gate, at::Tensor up) {
  if (current_form() == Form::kElementary) {
    return gate.mul(at::sigmoid(gate)).mul(up);
  }
  return recording() ? at::silu(gate).mul(up) : up.mul_(at::silu_(gate));
}

at::Tensor clip(at::Tensor x, double limit) {
  return recording() ? at::clamp(x, -limit, limit) : x.clamp_(-limit, limit);
}

}  // namespace quench::decoder
