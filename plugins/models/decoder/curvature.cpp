#include "models/decoder/curvature.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_make_dual.h>
#include <ATen/ops/_unpack_dual.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/forward_grad.h>

#include <tuple>

#include "models/decoder/loss.hpp"
#include "quench/kit/torch.hpp"

namespace quench::decoder {

namespace {

using torch::autograd::ForwardADLevel;

// A level of forward mode: tangents made on it end with it.
class Tangents {
 public:
  Tangents() : level_(ForwardADLevel::get_next_idx()) {}
  ~Tangents() { ForwardADLevel::release_idx(level_); }
  Tangents(const Tangents&) = delete;
  Tangents& operator=(const Tangents&) = delete;

  at::Tensor with(const at::Tensor& value, const at::Tensor& tangent) const {
    return at::_make_dual(value, tangent, static_cast<int64_t>(level_));
  }
  // Undefined where the value does not depend on what has a tangent.
  at::Tensor of(const at::Tensor& value) const {
    return value.defined() ? std::get<1>(at::_unpack_dual(value, static_cast<int64_t>(level_)))
                           : at::Tensor();
  }

 private:
  uint64_t level_;
};

std::vector<at::Tensor> grad(const std::vector<at::Tensor>& outputs,
                             const std::vector<at::Tensor>& inputs,
                             const std::vector<at::Tensor>& directions, bool keep, bool graph) {
  return torch::autograd::grad(outputs, inputs, directions, keep, graph, /*allow_unused=*/true);
}

}  // namespace

Curvature::Curvature(Decoder& model, const quench_loss_args& args, int32_t kind)
    : model_(model),
      given_(args, model.info_.max_positions, model.info_.vocabulary, model.device_),
      weight_(args.weight),
      kind_(kind) {
  kit::expects(args.flags == 0, "curvature: unknown flags");
  if (kind != QUENCH_CURVATURE_HESSIAN && kind != QUENCH_CURVATURE_GAUSS_NEWTON &&
      kind != QUENCH_CURVATURE_FORWARD) {
    kit::fail(QUENCH_UNSUPPORTED, "curvature: no kind %d", kind);
  }
  if (model.dtype_ != at::kDouble && model.dtype_ != at::kFloat) {
    kit::fail(QUENCH_UNSUPPORTED, "curvature: wanted a model in float64 or float32");
  }
  for (size_t i = 0; i < model.weights_.parameters().size(); ++i) {
    leaves_.push_back(model.weights_.tensor(i).detach().requires_grad_(true));
  }
  const at::AutoGradMode mode(true);
  Forward made = forward(leaves_, Form::kComposed);
  loss_ = sum_of(made.losses);
  if (kind == QUENCH_CURVATURE_HESSIAN) {
    gradients_ = gradients(made.losses, leaves_, /*graph=*/true);
  } else {
    losses_ = made.losses;
    logits_ = made.logits;
  }
}

Curvature::Forward Curvature::forward(const std::vector<at::Tensor>& leaves, Form form) {
  Recorder recorder(form);
  for (size_t i = 0; i < leaves.size(); ++i) {
    recorder.add_leaf(model_.weights_.tensor(i), leaves[i]);
  }
  const at::Tensor h = at::index_select(recorder.leaf(model_.embedding_), 0, given_.ids);
  const at::Tensor logits = model_.head_(model_.recorded_forward(given_.batch, h));
  return {logits, composed_losses(logits, given_.targets)};
}

std::vector<at::Tensor> Curvature::gradients(const at::Tensor& losses,
                                             const std::vector<at::Tensor>& leaves,
                                             bool graph) const {
  return grad({losses}, leaves, {at::full_like(losses, weight_)}, /*keep=*/true, graph);
}

void Curvature::add_gradient(const quench_tensor& to) {
  if (kind_ == QUENCH_CURVATURE_HESSIAN) {
    add(gradients_, to, "gradient");
  } else {
    add(gradients(losses_, leaves_, /*graph=*/false), to, "gradient");
  }
}

void Curvature::add_product(const quench_tensor& v, const quench_tensor& to) {
  const at::Tensor vector = model_.borrow_vector(v, "vector").to(model_.device_);
  std::vector<at::Tensor> parts;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    parts.push_back(model_.parameter_of(vector, i));
  }
  const at::AutoGradMode mode(true);
  try {
    switch (kind_) {
      case QUENCH_CURVATURE_HESSIAN:
        return add(by_double_backward(parts), to, "product");
      case QUENCH_CURVATURE_GAUSS_NEWTON:
        return add(gauss_newton(parts), to, "product");
      default:
        return add(forward_over_reverse(parts), to, "product");
    }
  } catch (const c10::NotImplementedError& error) {
    kit::fail(QUENCH_UNSUPPORTED, "curvature: %s", error.what_without_backtrace());
  }
}

std::vector<at::Tensor> Curvature::by_double_backward(const std::vector<at::Tensor>& v) const {
  std::vector<at::Tensor> outputs;
  std::vector<at::Tensor> directions;
  for (size_t i = 0; i < gradients_.size(); ++i) {
    if (gradients_[i].defined() && gradients_[i].requires_grad()) {
      outputs.push_back(gradients_[i]);
      directions.push_back(v[i]);
    }
  }
  return grad(outputs, leaves_, directions, /*keep=*/true, /*graph=*/false);
}

std::vector<at::Tensor> Curvature::gauss_newton(const std::vector<at::Tensor>& v) {
  at::Tensor change;  // J v, [N, vocabulary]
  {
    const at::NoGradGuard constant;
    const Tangents tangents;
    std::vector<at::Tensor> moving;
    for (size_t i = 0; i < leaves_.size(); ++i) {
      moving.push_back(tangents.with(leaves_[i].detach(), v[i]));
    }
    change = tangents.of(forward(moving, Form::kComposed).logits);
  }
  // The loss's second derivative in the logits of a scored row: diag(p) - p pᵀ.
  const at::NoGradGuard constant;
  const at::Tensor rows = scored_rows(given_.targets, model_.info_.vocabulary, logits_.device());
  const at::Tensor likely = at::softmax(logits_.detach().index_select(0, rows), 1);
  const at::Tensor along = likely.mul(change.index_select(0, rows));
  const at::Tensor bent = along.sub(likely.mul(along.sum(1, /*keepdim=*/true))).mul_(weight_);
  at::Tensor directions = at::zeros_like(logits_);
  directions.index_copy_(0, rows, bent);
  return grad({logits_}, leaves_, {directions}, /*keep=*/true, /*graph=*/false);
}

std::vector<at::Tensor> Curvature::forward_over_reverse(const std::vector<at::Tensor>& v) {
  const Tangents tangents;
  std::vector<at::Tensor> moving;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    moving.push_back(tangents.with(leaves_[i].detach().requires_grad_(true), v[i]));
  }
  std::vector<at::Tensor> products;
  for (const at::Tensor& gradient :
       gradients(forward(moving, Form::kElementary).losses, moving, /*graph=*/false)) {
    products.push_back(tangents.of(gradient));
  }
  return products;
}

void Curvature::add(const std::vector<at::Tensor>& parts, const quench_tensor& to,
                    const char* what) const {
  const at::NoGradGuard constant;
  const at::Tensor vector = model_.borrow_vector(to, what);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].defined()) {
      at::Tensor place = model_.parameter_of(vector, i);
      place.add_(parts[i].detach().to(vector.device()));
    }
  }
}

std::unique_ptr<Curvature> Decoder::curvature(const quench_loss_args& args, int32_t kind) {
  expect_default_stream(args.stream);
  return std::make_unique<Curvature>(*this, args, kind);
}

}  // namespace quench::decoder
