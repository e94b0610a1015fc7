// The vectors that all operations of one Hessian-vector product share.
//
// The product is a double backward (Pearlmutter, "Fast exact multiplication by the Hessian", 1994).
// The graph of forward and backward is walked twice more. The first walk follows the recorded
// backward and computes how every activation changes when the weights move along v: y = x Wᵀ
// changes by dx Wᵀ + x Vᵀ. The second walk follows the forward and computes the derivatives of
// these changes. Each operation keeps x and dy, implements its two steps, and adds the derivatives
// of its weights to the caller's vector, so no second vector over the parameters is made and none
// is copied.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/custom_class.h>

#include <unordered_map>
#include <vector>

namespace quench::decoder {

class HvpVectors : public torch::CustomClassHolder {
 public:
  // The elements of `weight` begin at `offset` in the flat vectors.
  void add_weight(const at::Tensor& weight, int64_t offset);
  // Sets the vectors of the next walk, on the weights' device: derivatives of weights are added to
  // `to`, and weights move along `direction`. Either may be undefined.
  void use(at::Tensor to, at::Tensor direction);

  // The part of `to` or `direction` that belongs to `weight`, in its shape; undefined if the vector
  // or the weight is.
  at::Tensor to(const at::Tensor& weight) const;
  at::Tensor direction(const at::Tensor& weight) const;

  // Each operation that has weights and a recorded backward hands over a scalar of value 0. A walk
  // that starts at all of these scalars reaches all operations.
  void add_root(at::Tensor root) { roots_.push_back(std::move(root)); }
  // The scalars added so far. They hold the graph and thereby this object.
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
