// How the stages of a family are run. A family writes its mathematics once, in terms of the
// operations of this folder; each of them has several forms, which tests hold equal.
#pragma once

#include <ATen/core/Tensor.h>

#include <unordered_map>
#include <utility>

#include "models/decoder/curved/vectors.hpp"

namespace quench::decoder {

enum class Form {
  kPlain,     // no derivative: in place, into the host's tensors
  kTraining,  // one backward: fused; gradients of weights are added to where they belong
  kComposed,  // of ATen operations that can be differentiated any number of times
  kCurved,    // one backward and a backward of it, for products with the Hessian: fused
  // As composed, and backwards can be differentiated in forward mode, which libtorch's backwards of
  // softmax and silu cannot.
  kElementary,
};

// The form of the operations on this thread, and the derivatives of weights in it. An operation
// finds both here because a family's stages pass weights alone.
class Recorder {
 public:
  // Operations in `form` from here until the object ends. One at a time on a thread.
  explicit Recorder(Form form, bool autocast = false);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // kTraining: `gradient`, of the shape of `weight`, receives the weight's derivative.
  void add_gradient(const at::Tensor& weight, at::Tensor gradient);
  // kCurved: the vectors of the product.
  void set_vectors(SharedVectors vectors) { vectors_ = std::move(vectors); }
  const SharedVectors& vectors() const { return vectors_; }
  // kComposed, kElementary: `leaf` takes the place of `weight`.
  void add_leaf(const at::Tensor& weight, at::Tensor leaf);

  // The leaf in place of `weight`: that of add_leaf, or, in kTraining and kCurved for an operation
  // that has no backward of its own, one that is made here; `weight` itself where nobody wants its
  // derivative.
  const at::Tensor& leaf(const at::Tensor& weight);
  // The leaf that was given or made in place of `weight`; undefined where there is none.
  at::Tensor found_leaf(const at::Tensor& weight) const;
  // Adds what a backward left in the leaves that were made here to their weights' gradients.
  void collect();
  // Where the derivative of `weight` goes; undefined where nobody wants it.
  at::Tensor gradient(const at::Tensor& weight) const;
  // `weight` in bfloat16, rounded once for all uses.
  const at::Tensor& narrowed(const at::Tensor& weight);

  Form form() const { return form_; }
  bool autocast() const { return autocast_; }

  // nullptr: plain.
  static Recorder* current();

 private:
  using Map = std::unordered_map<const void*, at::Tensor>;  // by the weight's storage

  Form form_;
  bool autocast_;
  Map gradients_;
  Map leaves_;
  Map narrowed_;
  SharedVectors vectors_;
};

inline Form current_form() {
  const Recorder* recorder = Recorder::current();
  return recorder == nullptr ? Form::kPlain : recorder->form();
}
// An operation without a fused form for products with the Hessian is composed in that form.
inline bool composing() {
  return current_form() == Form::kComposed || current_form() == Form::kElementary ||
         current_form() == Form::kCurved;
}
inline bool recording() {
  return current_form() != Form::kPlain;
}
// What an operation in a recorded form computes with in place of `weight` (which may be undefined).
at::Tensor tracked(const at::Tensor& weight);

// softmax(x) along the last dimension, in the type `type`, as the form wants it.
at::Tensor softmax(const at::Tensor& x, at::ScalarType type);

}  // namespace quench::decoder
