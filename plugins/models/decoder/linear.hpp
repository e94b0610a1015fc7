// One linear of a model: y = x Wᵀ + b, or the op that a caller put in its place.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

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
  bool is_replaced() const { return op_.apply != nullptr; }

  // x [N, in], contiguous -> a new [N, out]. Differentiable inside an AutogradScope. There the
  // product of a replacement is that of its inputs with the weight, and one that does not tell its
  // inputs is UNSUPPORTED.
  at::Tensor operator()(const at::Tensor& x) const;
  // Writes the same into y [N, out], contiguous, which must not overlap x.
  void into(const at::Tensor& x, const at::Tensor& y) const;

  // Takes ownership of `op` and releases an earlier one; nullptr restores the weight. `name` is the
  // linear's, for errors.
  void set_op(const quench_linear_op* op, const char* name);

 private:
  at::Tensor recorded(const at::Tensor& x) const;
  // What the replacement multiplies, with the derivative of x.
  at::Tensor replaced_inputs(const at::Tensor& x) const;

  at::Tensor weight_;
  at::Tensor bias_;
  quench_linear_op op_{};  // op_.apply is null if there is no replacement
  std::string name_;       // of a linear with a replacement
};

// Adds dyᵀ x [out, in] to `to`, which may be wider than both; does nothing if `to` is undefined.
void add_product(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& to);

}  // namespace quench::decoder
