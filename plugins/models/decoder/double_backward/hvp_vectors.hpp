// What the operations of a product with the Hessian share.
//
// The product is a double backward (Pearlmutter, "Fast exact multiplication by the Hessian", 1994):
// the graph of forward and backward is walked once more. First, along the recorded backward, the
// change of every activation when the weights move along v: the change of y = x Wᵀ is
// dx Wᵀ + x Vᵀ. Then, along the forward, the derivatives of what that changed. An operation here
// keeps x and dy, knows its own two steps and adds what its weights receive to where it belongs, so
// that no other vector over the parameters exists and no derivative of one is copied.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/custom_class.h>

#include <unordered_map>
#include <vector>

namespace quench::decoder {

class HvpVectors : public torch::CustomClassHolder {
 public:
  // The weight's elements in the flat vectors begin at `offset`.
  void add_weight(const at::Tensor& weight, int64_t offset);
  // The vectors of the walk to come, on the weights' device: what weights receive is added to `to`,
  // they move along `direction`. Either may be undefined.
  void use(at::Tensor to, at::Tensor direction);

  // The weight's part of `to` and of `direction`, of its shape; undefined where they are, and for
  // an undefined weight.
  at::Tensor to(const at::Tensor& weight) const;
  at::Tensor direction(const at::Tensor& weight) const;

  // An operation with weights whose backward is recorded hands over a scalar of its own, 0: a walk
  // that begins at all of these reaches all operations.
  void add_root(at::Tensor root) { roots_.push_back(std::move(root)); }
  // Those added so far, which hold the graph and so this object.
  std::vector<at::Tensor> take_roots() { return std::move(roots_); }

 private:
  at::Tensor part(const at::Tensor& vector, const at::Tensor& weight) const;

  std::unordered_map<const void*, int64_t> offsets_;  // by the weight's storage
  at::Tensor to_;
  at::Tensor direction_;
  std::vector<at::Tensor> roots_;
};

using SharedHvpVectors = c10::intrusive_ptr<HvpVectors>;

}  // namespace quench::decoder
