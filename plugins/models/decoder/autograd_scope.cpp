#include "models/decoder/autograd_scope.hpp"

#include <ATen/ops/amax.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sum.h>

#include <utility>

#include "models/decoder/derived_weight.hpp"
#include "models/decoder/differentiable.hpp"
#include "quench/kit/error.hpp"

namespace quench::decoder {

namespace {
thread_local AutogradScope* current_scope = nullptr;
}

AutogradScope::AutogradScope(AutogradMode mode, bool autocast) : mode_(mode), autocast_(autocast) {
  kit::expects(current_scope == nullptr, "a model is differentiated inside another");
  current_scope = this;
}

AutogradScope::~AutogradScope() {
  current_scope = nullptr;
}

AutogradScope* AutogradScope::current() {
  return current_scope;
}

void AutogradScope::add_gradient(const at::Tensor& weight, at::Tensor gradient) {
  gradients_.emplace(weight.const_data_ptr(), std::move(gradient));
}

void AutogradScope::add_leaf(const at::Tensor& weight, at::Tensor leaf) {
  leaves_.emplace(weight.const_data_ptr(), std::move(leaf));
}

const at::Tensor& AutogradScope::leaf(const at::Tensor& weight) {
  const void* key = weight.const_data_ptr();
  if (const auto found = leaves_.find(key); found != leaves_.end()) {
    return found->second;
  }
  if (mode_ != AutogradMode::kDoubleBackward &&
      (mode_ != AutogradMode::kTraining || !gradients_.contains(key))) {
    if (mode_ == AutogradMode::kTraining && !gradients_.empty() && !weight.requires_grad()) {
      refuse_derived(weight);
    }
    return weight;
  }
  return leaves_.emplace(key, weight.detach().requires_grad_(true)).first->second;
}

at::Tensor AutogradScope::found_leaf(const at::Tensor& weight) const {
  const auto found = leaves_.find(weight.const_data_ptr());
  return found == leaves_.end() ? at::Tensor() : found->second;
}

void AutogradScope::collect() {
  for (const auto& [key, leaf] : leaves_) {
    if (leaf.grad().defined()) {
      gradients_.at(key).add_(leaf.grad());
    }
  }
  leaves_.clear();
}

at::Tensor AutogradScope::gradient(const at::Tensor& weight) const {
  const auto found = gradients_.find(weight.const_data_ptr());
  if (found == gradients_.end() && !gradients_.empty()) {
    refuse_derived(weight);
  }
  return found == gradients_.end() ? at::Tensor() : found->second;
}

const at::Tensor& AutogradScope::narrowed(const at::Tensor& weight) {
  at::Tensor& kept = narrowed_[weight.const_data_ptr()];
  if (!kept.defined()) {
    kept = weight.to(at::kBFloat16);
  }
  return kept;
}

at::Tensor softmax(const at::Tensor& x, at::ScalarType type) {
  if (current_mode() != AutogradMode::kElementary) {
    return at::softmax(x, -1, type);
  }
  const at::Tensor wide = x.to(type);
  const at::Tensor powers = exponential_of(wide.sub(wide.detach().amax({-1}, /*keepdim=*/true)));
  return powers.div(powers.sum({-1}, /*keepdim=*/true));
}

at::Tensor tracked(const at::Tensor& weight) {
  AutogradScope* scope = AutogradScope::current();
  return scope == nullptr || !weight.defined() ? weight : scope->leaf(weight);
}

}  // namespace quench::decoder
