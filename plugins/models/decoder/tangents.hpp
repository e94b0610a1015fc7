// A level of forward-mode differentiation: its tangents are gone when it ends.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/_make_dual.h>
#include <ATen/ops/_unpack_dual.h>
#include <torch/csrc/autograd/forward_grad.h>

#include <cstdint>
#include <tuple>

namespace quench::decoder {

class Tangents {
 public:
  Tangents() : level_(torch::autograd::ForwardADLevel::get_next_idx()) {}
  ~Tangents() { torch::autograd::ForwardADLevel::release_idx(level_); }
  Tangents(const Tangents&) = delete;
  Tangents& operator=(const Tangents&) = delete;

  at::Tensor with(const at::Tensor& value, const at::Tensor& tangent) const {
    return at::_make_dual(value, tangent, static_cast<int64_t>(level_));
  }
  // Undefined if the value does not depend on anything that has a tangent.
  at::Tensor of(const at::Tensor& value) const {
    return value.defined() ? std::get<1>(at::_unpack_dual(value, static_cast<int64_t>(level_)))
                           : at::Tensor();
  }
  at::Tensor without(const at::Tensor& value) const {
    return std::get<0>(at::_unpack_dual(value, static_cast<int64_t>(level_)));
  }

 private:
  uint64_t level_;
};

}  // namespace quench::decoder
