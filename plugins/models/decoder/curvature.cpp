#include "models/decoder/curvature.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/autograd.h>

#include "models/decoder/curvature_by_block.hpp"
#include "models/decoder/double_backward/operations.hpp"
#include "models/decoder/embedding.hpp"
#include "models/decoder/loss.hpp"
#include "models/decoder/tangents.hpp"
#include "quench/kit/torch.hpp"

namespace quench::decoder {

namespace {

std::vector<at::Tensor> grad(const std::vector<at::Tensor>& outputs,
                             const std::vector<at::Tensor>& inputs,
                             const std::vector<at::Tensor>& directions, bool graph) {
  return torch::autograd::grad(outputs, inputs, directions, /*retain_graph=*/true, graph,
                               /*allow_unused=*/true);
}

// `body` adds to `to`, or if that is in host memory, to a vector on the device that is added to it.
template <typename Body>
void add_on_device(const at::Tensor& to, at::Device device, Body&& body) {
  if (to.device() == device) {
    return body(to);
  }
  const at::Tensor vector = at::zeros(to.sizes(), to.options().device(device));
  body(vector);
  at::Tensor total = to;
  total.add_(vector.cpu());
}

}  // namespace

ResidentCurvature::ResidentCurvature(Decoder& model, const quench_loss_args& args, int32_t kind,
                                     const quench_tensor* gradient)
    : model_(model),
      given_(args, model.info_.max_positions, model.info_.vocabulary, model.device_),
      weight_(args.weight),
      kind_(kind) {
  const at::Tensor to =
      gradient != nullptr ? model.borrow_vector(*gradient, "gradient") : at::Tensor();
  const at::AutoGradMode mode(true);
  if (kind == QUENCH_CURVATURE_HESSIAN) {
    if (to.defined()) {
      add_on_device(to, model.device_, [this](const at::Tensor& vector) { record(vector); });
    } else {
      record({});
    }
    return;
  }
  for (size_t i = 0; i < model.weights_.parameters().size(); ++i) {
    weights_.push_back(model.weights_.tensor(i).detach().requires_grad_(true));
  }
  Forward made = forward(weights_, AutogradMode::kComposed);
  loss_ = sum_of(made.losses);
  losses_ = made.losses;
  logits_ = made.logits;
  if (to.defined()) {
    add_on_device(to, model.device_,
                  [this](const at::Tensor& vector) { add(gradients(losses_, weights_), vector); });
  }
}

void ResidentCurvature::record(const at::Tensor& to) {
  vectors_ = c10::make_intrusive<HvpVectors>();
  const auto& parameters = model_.weights_.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    vectors_->add_weight(model_.weights_.tensor(i), static_cast<int64_t>(parameters[i].offset));
  }
  AutogradScope scope(AutogradMode::kDoubleBackward);
  scope.set_vectors(vectors_);
  rows_ = at::index_select(model_.embedding_, 0, given_.ids).requires_grad_(true);
  const at::Tensor logits = model_.recorded_logits(model_.recorded_forward(given_.batch, rows_));
  const at::Tensor back = double_backward_loss_gradient(logits, given_.targets, weight_, loss_);
  std::vector<at::Tensor> inputs = {rows_};
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (const at::Tensor leaf = scope.found_leaf(model_.weights_.tensor(i)); leaf.defined()) {
      leaves_.push_back({i, leaf});
      inputs.push_back(leaf);
    }
  }
  vectors_->use(to, {});
  gradients_ = grad({logits}, inputs, {back}, /*graph=*/true);
  roots_ = vectors_->take_roots();
  if (to.defined()) {
    add_received(gradients_, to);
  }
  vectors_->use({}, {});
}

void ResidentCurvature::walk(const at::Tensor& v, const at::Tensor& to) {
  vectors_->use(to, v);
  std::vector<at::Tensor> outputs = roots_;
  std::vector<at::Tensor> directions;
  for (const at::Tensor& root : roots_) {
    directions.push_back(at::ones_like(root));
  }
  std::vector<at::Tensor> inputs = {rows_};
  outputs.push_back(gradients_[0]);
  directions.push_back(vectors_->direction(model_.embedding_).index_select(0, given_.ids));
  for (size_t i = 0; i < leaves_.size(); ++i) {
    inputs.push_back(leaves_[i].value);
    const at::Tensor& gradient = gradients_[i + 1];
    if (gradient.defined() && gradient.requires_grad()) {
      outputs.push_back(gradient);
      directions.push_back(model_.parameter_of(v, leaves_[i].parameter));
    }
  }
  add_received(grad(outputs, inputs, directions, /*graph=*/false), to);
  vectors_->use({}, {});
}

void ResidentCurvature::add_received(const std::vector<at::Tensor>& received,
                                     const at::Tensor& to) const {
  const at::NoGradGuard constant;
  if (received[0].defined()) {
    add_embedding_gradient(received[0].detach(), given_.ids, vectors_->to(model_.embedding_));
  }
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (received[i + 1].defined()) {
      model_.parameter_of(to, leaves_[i].parameter).add_(received[i + 1].detach());
    }
  }
}

ResidentCurvature::Forward ResidentCurvature::forward(const std::vector<at::Tensor>& leaves,
                                                      AutogradMode mode) {
  AutogradScope scope(mode);
  for (size_t i = 0; i < leaves.size(); ++i) {
    scope.add_leaf(model_.weights_.tensor(i), leaves[i]);
  }
  const at::Tensor h = at::index_select(scope.leaf(model_.embedding_), 0, given_.ids);
  const at::Tensor logits = model_.recorded_logits(model_.recorded_forward(given_.batch, h));
  return {logits, composed_losses(logits, given_.targets)};
}

std::vector<at::Tensor> ResidentCurvature::gradients(const at::Tensor& losses,
                                                     const std::vector<at::Tensor>& leaves) const {
  return grad({losses}, leaves, {at::full_like(losses, weight_)}, /*graph=*/false);
}

void ResidentCurvature::add_product(const quench_tensor& v, const quench_tensor& to) {
  const at::Tensor product = model_.borrow_vector(to, "product");
  const at::Tensor vector = model_.borrow_vector(v, "vector").to(model_.device_);
  std::vector<at::Tensor> parts;
  for (size_t i = 0; i < weights_.size(); ++i) {
    parts.push_back(model_.parameter_of(vector, i));
  }
  const at::AutoGradMode mode(true);
  try {
    add_on_device(product, model_.device_, [&](const at::Tensor& place) {
      switch (kind_) {
        case QUENCH_CURVATURE_HESSIAN:
          return walk(vector, place);
        case QUENCH_CURVATURE_GAUSS_NEWTON:
          return add(gauss_newton(parts), place);
        default:
          return add(forward_over_reverse(parts), place);
      }
    });
  } catch (const c10::NotImplementedError& error) {
    kit::fail(QUENCH_UNSUPPORTED, "curvature: %s", error.what_without_backtrace());
  }
}

std::vector<at::Tensor> ResidentCurvature::gauss_newton(const std::vector<at::Tensor>& v) {
  at::Tensor change;  // J v, [N, vocabulary]
  {
    const at::NoGradGuard constant;
    const Tangents tangents;
    std::vector<at::Tensor> moving;
    for (size_t i = 0; i < weights_.size(); ++i) {
      moving.push_back(tangents.with(weights_[i].detach(), v[i]));
    }
    change = tangents.of(forward(moving, AutogradMode::kComposed).logits);
  }
  const at::NoGradGuard constant;
  return grad({logits_}, weights_, {bent_logits(logits_, change, given_.targets, weight_)},
              /*graph=*/false);
}

std::vector<at::Tensor> ResidentCurvature::forward_over_reverse(const std::vector<at::Tensor>& v) {
  const Tangents tangents;
  std::vector<at::Tensor> moving;
  for (size_t i = 0; i < weights_.size(); ++i) {
    moving.push_back(tangents.with(weights_[i].detach().requires_grad_(true), v[i]));
  }
  std::vector<at::Tensor> products;
  for (const at::Tensor& gradient :
       gradients(forward(moving, AutogradMode::kElementary).losses, moving)) {
    products.push_back(tangents.of(gradient));
  }
  return products;
}

void ResidentCurvature::add(const std::vector<at::Tensor>& parts, const at::Tensor& to) const {
  const at::NoGradGuard constant;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].defined()) {
      model_.parameter_of(to, i).add_(parts[i].detach());
    }
  }
}

std::unique_ptr<Curvature> Decoder::curvature(const quench_loss_args& args, int32_t kind,
                                              const quench_tensor* gradient) {
  expect_default_stream(args.stream);
  kit::expects(args.flags == 0, "curvature: unknown flags");
  if (kind != QUENCH_CURVATURE_HESSIAN && kind != QUENCH_CURVATURE_GAUSS_NEWTON &&
      kind != QUENCH_CURVATURE_FORWARD) {
    kit::fail(QUENCH_UNSUPPORTED, "curvature: no kind %d", kind);
  }
  if (dtype_ != at::kDouble && dtype_ != at::kFloat) {
    kit::fail(QUENCH_UNSUPPORTED, "curvature: wanted a model in float64 or float32");
  }
  if (weights_.by_block()) {
    return std::make_unique<CurvatureByBlock>(*this, args, kind, gradient);
  }
  return std::make_unique<ResidentCurvature>(*this, args, kind, gradient);
}

}  // namespace quench::decoder
