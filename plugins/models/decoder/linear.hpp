// One linear of a model: y = x Wᵀ + b, or the replacement that a caller put in its place.
#pragma once

#include <ATen/core/Tensor.h>

#include "quench/abi/kind/model.h"

namespace quench::decoder {

// Shares weight and bias with the registry of weights, so it sees every weight_set. Owns the
// replacement that was put in its place.
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

  // x [N, in], contiguous -> a new [N, out]. Recorded where a AutogradScope is: UNSUPPORTED then
  // for a replacement.
  at::Tensor operator()(const at::Tensor& x) const;
  // The same into y [N, out], contiguous, which overlaps x nowhere.
  void into(const at::Tensor& x, const at::Tensor& y) const;

  // Takes `op` over, replacing and releasing an earlier one; nullptr restores the weight.
  void set_op(const quench_linear_op* op);

 private:
  at::Tensor recorded(const at::Tensor& x) const;

  at::Tensor weight_;
  at::Tensor bias_;
  quench_linear_op op_{};  // op_.apply is null without a replacement
};

// Adds dyᵀ x [out, in] to `to`, which may be undefined (nothing happens) or wider than both.
void add_product(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& to);

}  // namespace quench::decoder
