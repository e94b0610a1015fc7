#include "models/decoder/curvature_by_block.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/autograd.h>

#include <utility>

#include "models/decoder/embedding.hpp"
#include "models/decoder/loss.hpp"
#include "quench/kit/torch.hpp"

namespace quench::decoder {

namespace {

std::vector<at::Tensor> grad(const at::Tensor& output, const std::vector<at::Tensor>& inputs,
                             const at::Tensor& direction) {
  return torch::autograd::grad({output}, inputs, {direction}, /*retain_graph=*/false,
                               /*create_graph=*/false, /*allow_unused=*/true);
}

}  // namespace

CurvatureByBlock::CurvatureByBlock(Decoder& model, const quench_loss_args& args, int32_t kind,
                                   const quench_tensor* gradient)
    : model_(model),
      given_(args, model.info_.max_positions, model.info_.vocabulary, model.device_),
      weight_(args.weight),
      kind_(kind),
      loss_(model.gradient(args, gradient)) {}

bool CurvatureByBlock::is_gauss_newton() const {
  return kind_ == QUENCH_CURVATURE_GAUSS_NEWTON;
}

AutogradMode CurvatureByBlock::mode() const {
  return is_gauss_newton() ? AutogradMode::kComposed : AutogradMode::kElementary;
}

std::vector<at::Tensor> CurvatureByBlock::leaves(const Product& product,
                                                 std::optional<uint32_t> block,
                                                 AutogradScope& scope, bool move,
                                                 bool differentiate) const {
  std::vector<at::Tensor> made;
  for (const size_t i : model_.weights_.of_block(block)) {
    const at::Tensor& weight = model_.weights_.tensor(i);
    at::Tensor leaf = weight.detach().requires_grad_(differentiate);
    if (move) {
      leaf = product.tangents.with(leaf, model_.parameter_of(product.v, i).to(weight.device()));
    }
    made.push_back(leaf);
    scope.add_leaf(weight, leaf);
  }
  return made;
}

std::vector<CurvatureByBlock::Moving> CurvatureByBlock::forward(const Product& product) const {
  const at::NoGradGuard constant;
  const auto split = [&](const at::Tensor& rows) {
    return Moving{product.tangents.without(rows), product.tangents.of(rows)};
  };
  at::Tensor h;
  {
    AutogradScope scope(mode());
    leaves(product, std::nullopt, scope, /*move=*/true, /*differentiate=*/false);
    h = model_.embedded(at::index_select(scope.leaf(model_.embedding_), 0, given_.ids));
  }
  std::vector<Moving> rows;
  for (uint32_t block = 0; block < model_.info_.blocks; ++block) {
    rows.push_back(split(h));
    model_.weights_.enter(block);
    AutogradScope scope(mode());
    leaves(product, block, scope, /*move=*/true, /*differentiate=*/false);
    h = model_.recorded_block(given_.batch, block, h);
  }
  rows.push_back(split(h));
  return rows;
}

at::Tensor CurvatureByBlock::along(const Product& product, const at::Tensor& derivative) const {
  return is_gauss_newton() ? derivative : product.tangents.of(derivative);
}

void CurvatureByBlock::add_part(const Product& product, std::optional<uint32_t> block,
                                const std::vector<at::Tensor>& derivatives) const {
  const at::NoGradGuard constant;
  size_t next = 0;
  for (const size_t i : model_.weights_.of_block(block)) {
    if (const at::Tensor part = along(product, derivatives[next++]); part.defined()) {
      model_.parameter_of(product.to, i).add_(part.detach().to(product.to.device()));
    }
  }
}

at::Tensor CurvatureByBlock::back_from_loss(const Product& product, const Moving& last) const {
  at::Tensor bent;  // Gauss-Newton: the second derivative of the loss by the logits, along v
  if (is_gauss_newton()) {
    const at::NoGradGuard constant;
    AutogradScope scope(mode());
    leaves(product, std::nullopt, scope, /*move=*/true, /*differentiate=*/false);
    const at::Tensor logits =
        model_.recorded_logits(model_.final_norm(product.tangents.with(last.value, last.tangent)));
    bent = bent_logits(product.tangents.without(logits), product.tangents.of(logits),
                       given_.targets, weight_);
  }
  AutogradScope scope(mode());
  std::vector<at::Tensor> inputs = leaves(product, std::nullopt, scope,
                                          /*move=*/!is_gauss_newton(), /*differentiate=*/true);
  at::Tensor rows = last.value.detach().requires_grad_(true);
  if (!is_gauss_newton()) {
    rows = product.tangents.with(rows, last.tangent);
  }
  inputs.push_back(rows);
  const at::Tensor logits = model_.recorded_logits(model_.final_norm(rows));
  const at::Tensor output = is_gauss_newton() ? logits : composed_losses(logits, given_.targets);
  std::vector<at::Tensor> found =
      grad(output, inputs, is_gauss_newton() ? bent : at::full_like(output, weight_));
  at::Tensor by_rows = std::move(found.back());
  found.pop_back();
  add_part(product, std::nullopt, found);
  return by_rows;
}

at::Tensor CurvatureByBlock::back_through(const Product& product, uint32_t block,
                                          const Moving& first, const at::Tensor& by_output) const {
  model_.weights_.enter(block);
  AutogradScope scope(mode());
  std::vector<at::Tensor> inputs =
      leaves(product, block, scope, /*move=*/!is_gauss_newton(), /*differentiate=*/true);
  at::Tensor rows = first.value.detach().requires_grad_(true);
  if (!is_gauss_newton()) {
    rows = product.tangents.with(rows, first.tangent);
  }
  inputs.push_back(rows);
  std::vector<at::Tensor> found =
      grad(model_.recorded_block(given_.batch, block, rows), inputs, by_output);
  at::Tensor by_rows = std::move(found.back());
  found.pop_back();
  add_part(product, block, found);
  return by_rows;
}

void CurvatureByBlock::add_product(const quench_tensor& v, const quench_tensor& to) {
  const at::Tensor place = model_.borrow_vector(to, "product");
  const at::Tensor vector = model_.borrow_vector(v, "vector");
  const at::AutoGradMode mode(true);
  try {
    const Product product{vector, place};
    std::vector<Moving> rows = forward(product);
    at::Tensor by_rows = back_from_loss(product, rows.back());
    rows.pop_back();
    for (uint32_t block = model_.info_.blocks; block-- > 0;) {
      by_rows = back_through(product, block, rows.back(), by_rows);
      rows.pop_back();
    }
    const at::NoGradGuard constant;
    if (const at::Tensor part = along(product, by_rows); part.defined()) {
      const at::Tensor& embedding = model_.embedding_;
      const at::Tensor sum =
          at::zeros(embedding.sizes(), embedding.options().dtype(model_.vector_type()));
      add_embedding_gradient(model_.embedded(part.detach()), given_.ids, sum);
      for (const size_t i : model_.weights_.of_block(std::nullopt)) {
        if (model_.weights_.tensor(i).is_same(embedding)) {
          model_.parameter_of(place, i).add_(sum.to(place.device()));
        }
      }
    }
  } catch (const c10::NotImplementedError& error) {
    kit::fail(QUENCH_UNSUPPORTED, "curvature: %s", error.what_without_backtrace());
  }
}

}  // namespace quench::decoder
