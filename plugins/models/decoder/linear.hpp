// One linear of a model: y = x Wᵀ + b, or the op that a caller put in its place.
#pragma once

#include <ATen/core/Tensor.h>

#include "quench/abi/kind/model.h"

namespace quench::decoder {

// Shares weight and bias with the model's Weights, so that it sees every weight_set. Owns its
// replacement, if it has one.
class Linear {
 public:
  // weight [out, in]; bias [out] or undefined.
  Linear(at::Tensor weight, at::Tensor bias);
  Linear(Linear&& other) noexcept;
  Linear& operator=(Linear&&) = delete;
  ~Linear();

  int64_t out_features() const { return weight_.size(0); }
  int64_t in_features() const { return weight_.size(1); }
  const at::Tensor& weight() const { return weight_; }

  // x [N, in], contiguous -> a new [N, out]. Differentiable inside an AutogradScope; a linear with
  // a replacement is UNSUPPORTED there.
  at::Tensor operator()(const at::Tensor& x) const;
  // Writes the same into y [N, out], contiguous, which must not overlap x.
  void into(const at::Tensor& x, const at::Tensor& y) const;

  // Takes ownership of `op` and releases an earlier one; nullptr restores the weight.
  void set_op(const quench_linear_op* op);

 private:
  at::Tensor recorded(const at::Tensor& x) const;

  at::Tensor weight_;
  at::Tensor bias_;
  quench_linear_op op_{};  // op_.apply is null if there is no replacement
};

// Adds dyᵀ x [out, in] to `to`, which may be wider than both; does nothing if `to` is undefined.
void add_product(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& to);

}  // namespace quench::decoder
