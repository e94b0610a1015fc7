#include "models/decoder/recorder.hpp"

#include <ATen/ops/amax.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sum.h>

#include <utility>

#include "models/decoder/differentiable.hpp"
#include "quench/kit/error.hpp"

namespace quench::decoder {

namespace {
thread_local Recorder* current_recorder = nullptr;
}

Recorder::Recorder(Form form, bool autocast) : form_(form), autocast_(autocast) {
  kit::expects(current_recorder == nullptr, "a model is differentiated inside another");
  current_recorder = this;
}

Recorder::~Recorder() {
  current_recorder = nullptr;
}

Recorder* Recorder::current() {
  return current_recorder;
}

void Recorder::add_gradient(const at::Tensor& weight, at::Tensor gradient) {
  gradients_.emplace(weight.const_data_ptr(), std::move(gradient));
}

void Recorder::add_leaf(const at::Tensor& weight, at::Tensor leaf) {
  leaves_.emplace(weight.const_data_ptr(), std::move(leaf));
}

const at::Tensor& Recorder::leaf(const at::Tensor& weight) {
  const void* key = weight.const_data_ptr();
  if (const auto found = leaves_.find(key); found != leaves_.end()) {
    return found->second;
  }
  if (form_ != Form::kCurved && (form_ != Form::kTraining || !gradients_.contains(key))) {
    return weight;
  }
  return leaves_.emplace(key, weight.detach().requires_grad_(true)).first->second;
}

at::Tensor Recorder::found_leaf(const at::Tensor& weight) const {
  const auto found = leaves_.find(weight.const_data_ptr());
  return found == leaves_.end() ? at::Tensor() : found->second;
}

void Recorder::collect() {
  for (const auto& [key, leaf] : leaves_) {
    if (leaf.grad().defined()) {
      gradients_.at(key).add_(leaf.grad());
    }
  }
  leaves_.clear();
}

at::Tensor Recorder::gradient(const at::Tensor& weight) const {
  const auto found = gradients_.find(weight.const_data_ptr());
  return found == gradients_.end() ? at::Tensor() : found->second;
}

const at::Tensor& Recorder::narrowed(const at::Tensor& weight) {
  at::Tensor& kept = narrowed_[weight.const_data_ptr()];
  if (!kept.defined()) {
    kept = weight.to(at::kBFloat16);
  }
  return kept;
}

at::Tensor softmax(const at::Tensor& x, at::ScalarType type) {
  if (current_form() != Form::kElementary) {
    return at::softmax(x, -1, type);
  }
  const at::Tensor wide = x.to(type);
  const at::Tensor powers = exponential_of(wide.sub(wide.detach().amax({-1}, /*keepdim=*/true)));
  return powers.div(powers.sum({-1}, /*keepdim=*/true));
}

at::Tensor tracked(const at::Tensor& weight) {
  Recorder* recorder = Recorder::current();
  return recorder == nullptr || !weight.defined() ? weight : recorder->leaf(weight);
}

}  // namespace quench::decoder
