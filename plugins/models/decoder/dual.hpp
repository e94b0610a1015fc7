// A value and its tangent in forward mode, for operations of our own: libtorch has no forward mode
// of those, so they are applied to the value, and the tangent is carried beside it.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/_make_dual.h>
#include <ATen/ops/_unpack_dual.h>

#include <tuple>

namespace quench::decoder {

inline constexpr int64_t kDualLevel = 0;  // libtorch has a single level of forward mode

struct Dual {
  explicit Dual(const at::Tensor& x) : value(x) {
    if (x._fw_grad(kDualLevel).defined()) {
      std::tie(value, tangent) = at::_unpack_dual(x, kDualLevel);
    }
  }
  at::Tensor value;
  at::Tensor tangent;  // undefined if the value does not move
};

// The value with this tangent, which may be undefined.
inline at::Tensor with_tangent(const at::Tensor& value, const at::Tensor& tangent) {
  return tangent.defined() ? at::_make_dual(value, tangent, kDualLevel) : value;
}

}  // namespace quench::decoder
