// How the operations of this folder differentiate. A family writes its mathematics once, in terms
// of these operations. Each operation has one implementation per AutogradMode; tests hold them
// equal.
#pragma once

#include <ATen/core/Tensor.h>

#include <unordered_map>
#include <utility>

#include "models/decoder/double_backward/hvp_vectors.hpp"

namespace quench::decoder {

enum class AutogradMode {
  kInference,       // no derivative; operations write in place, into the host's tensors
  kTraining,        // one backward, fused; it adds weight gradients to the caller's vector
  kComposed,        // ATen operations that can be differentiated any number of times
  kDoubleBackward,  // a fused backward and a fused backward of it, for Hessian-vector products
  // Like kComposed, but the backward can also be differentiated in forward mode. libtorch's own
  // backwards of softmax and silu cannot.
  kElementary,
};

// Sets the mode of the operations on this thread, and says where derivatives of weights go. An
// operation looks both up here, because a family's stages pass only the weights.
class AutogradScope {
 public:
  // Operations run in `mode` until the object is destroyed. A thread has at most one scope.
  explicit AutogradScope(AutogradMode mode, bool autocast = false);
  ~AutogradScope();
  AutogradScope(const AutogradScope&) = delete;
  AutogradScope& operator=(const AutogradScope&) = delete;

  // kTraining: the derivative of `weight` is added to `gradient`, which has its shape.
  void add_gradient(const at::Tensor& weight, at::Tensor gradient);
  // kDoubleBackward: the vectors of the Hessian-vector product.
  void set_vectors(SharedHvpVectors vectors) { vectors_ = std::move(vectors); }
  const SharedHvpVectors& vectors() const { return vectors_; }
  // kComposed, kElementary: operations use `leaf` in place of `weight`.
  void add_leaf(const at::Tensor& weight, at::Tensor leaf);

  // The leaf that operations use in place of `weight`: the one passed to add_leaf, or, in kTraining
  // and kDoubleBackward for an operation without a backward of its own, one made here. Returns
  // `weight` itself if its derivative is not wanted.
  const at::Tensor& leaf(const at::Tensor& weight);
  // The leaf of `weight`, passed in or made here; undefined if there is none.
  at::Tensor found_leaf(const at::Tensor& weight) const;
  // After a backward: adds the gradients of leaves made here to the gradients of their weights.
  void collect();
  // The tensor that receives the derivative of `weight`; undefined if it is not wanted.
  at::Tensor gradient(const at::Tensor& weight) const;
  // `weight` in bfloat16, rounded once and kept for all uses.
  const at::Tensor& narrowed(const at::Tensor& weight);

  AutogradMode mode() const { return mode_; }
  bool autocast() const { return autocast_; }

  // The scope of this thread; nullptr in inference.
  static AutogradScope* current();

 private:
  using Map = std::unordered_map<const void*, at::Tensor>;  // by the weight's storage

  AutogradMode mode_;
  bool autocast_;
  Map gradients_;
  Map leaves_;
  Map narrowed_;
  SharedHvpVectors vectors_;
};

inline AutogradMode current_mode() {
  const AutogradScope* scope = AutogradScope::current();
  return scope == nullptr ? AutogradMode::kInference : scope->mode();
}
// Whether operations are composed. In kDoubleBackward only those without a fused version are.
inline bool composing() {
  return current_mode() == AutogradMode::kComposed || current_mode() == AutogradMode::kElementary ||
         current_mode() == AutogradMode::kDoubleBackward;
}
// Whether operations have a fused backward of their own.
inline bool trains() {
  return current_mode() == AutogradMode::kTraining ||
         current_mode() == AutogradMode::kDoubleBackward;
}
inline bool recording() {
  return current_mode() != AutogradMode::kInference;
}
// The leaf that an operation computes with in place of `weight`, which may be undefined.
at::Tensor tracked(const at::Tensor& weight);

// softmax(x) over the last dimension, computed in `type`, differentiable as the mode asks.
at::Tensor softmax(const at::Tensor& x, at::ScalarType type);

}  // namespace quench::decoder
