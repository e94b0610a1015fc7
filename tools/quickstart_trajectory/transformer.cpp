#include "tools/quickstart_trajectory/transformer.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <stdexcept>

namespace quickstart {

Transformer::Transformer(const Shape& shape) : shape_(shape) {
  const auto add = [this](const std::string& name, at::Tensor value) {
    parameters_.push_back({name, value.set_requires_grad(true)});
  };
  const auto matrix = [&](const std::string& name, int64_t rows, int64_t columns, double std) {
    add(name + ".weight", at::randn({rows, columns}) * std);
  };
  const auto norm = [&](const std::string& name) {
    add(name + ".weight", at::ones({shape.width}));
    add(name + ".bias", at::zeros({shape.width}));
  };
  const auto biased = [&](const std::string& name, int64_t rows, int64_t columns, double std) {
    matrix(name, rows, columns, std);
    add(name + ".bias", at::zeros({rows}));
  };
  const auto width = static_cast<double>(shape.width);
  const double in = std::sqrt(2.0 / (5.0 * width));
  const double out = 2.0 / (static_cast<double>(shape.layers) * std::sqrt(width));
  matrix("gpt_neox.embed_in", shape.vocabulary, shape.width, in);
  for (int64_t i = 0; i < shape.layers; ++i) {
    const std::string prefix = "gpt_neox.layers." + std::to_string(i);
    norm(prefix + ".input_layernorm");
    norm(prefix + ".post_attention_layernorm");
    biased(prefix + ".attention.query_key_value", 3 * shape.width, shape.width, in);
    biased(prefix + ".attention.dense", shape.width, shape.width, out);
    biased(prefix + ".mlp.dense_h_to_4h", 4 * shape.width, shape.width, in);
    biased(prefix + ".mlp.dense_4h_to_h", shape.width, 4 * shape.width, out);
  }
  norm("gpt_neox.final_layer_norm");
  matrix("embed_out", shape.vocabulary, shape.width, in);

  // angle[p, i] = p * 10000^(-2i/d), each twice: the two halves rotate together.
  const int64_t head = shape.width / shape.heads;
  const auto rotary = static_cast<int64_t>(shape.rotary_fraction * static_cast<double>(head));
  const at::Tensor exponents = at::arange(0, rotary, 2, at::kFloat) / static_cast<double>(rotary);
  const at::Tensor frequencies = at::pow(10000.0, exponents).reciprocal();
  const at::Tensor angles = at::outer(at::arange(shape.positions, at::kFloat), frequencies);
  cosines_ = at::cat({angles, angles}, -1).cos();
  sines_ = at::cat({angles, angles}, -1).sin();
}

const at::Tensor& Transformer::get(const std::string& name) const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.name == name) {
      return parameter.value;
    }
  }
  throw std::logic_error("no parameter " + name);
}

at::Tensor Transformer::norm(const at::Tensor& x, const std::string& name) const {
  return at::layer_norm(x, {shape_.width}, get(name + ".weight"), get(name + ".bias"),
                        shape_.norm_epsilon);
}

at::Tensor Transformer::linear(const at::Tensor& x, const std::string& name) const {
  return at::linear(x, get(name + ".weight"), get(name + ".bias"));
}

// x [B, heads, T, head width]: only the first `rotary` of each head are rotated.
at::Tensor Transformer::rotate(const at::Tensor& x) const {
  const int64_t length = x.size(2);
  const int64_t rotary = cosines_.size(1);
  const at::Tensor turned = x.narrow(-1, 0, rotary);
  const at::Tensor first = turned.narrow(-1, 0, rotary / 2);
  const at::Tensor second = turned.narrow(-1, rotary / 2, rotary / 2);
  const at::Tensor result = turned * cosines_.narrow(0, 0, length) +
                            at::cat({-second, first}, -1) * sines_.narrow(0, 0, length);
  return at::cat({result, x.narrow(-1, rotary, x.size(-1) - rotary)}, -1);
}

// x [B, T, width]. The rows of query_key_value are ordered [head][q, k, v][head width].
at::Tensor Transformer::attention(const at::Tensor& x, const std::string& prefix) const {
  const int64_t head = shape_.width / shape_.heads;
  const at::Tensor qkv = linear(x, prefix + ".query_key_value")
                             .view({x.size(0), x.size(1), shape_.heads, 3 * head})
                             .transpose(1, 2);
  const at::Tensor mixed = at::scaled_dot_product_attention(
      rotate(qkv.narrow(-1, 0, head)), rotate(qkv.narrow(-1, head, head)),
      qkv.narrow(-1, 2 * head, head), {}, 0.0, true);
  return linear(mixed.transpose(1, 2).reshape(x.sizes()), prefix + ".dense");
}

at::Tensor Transformer::loss(const at::Tensor& tokens) const {
  const int64_t length = tokens.size(1) - 1;
  at::Tensor x = at::embedding(get("gpt_neox.embed_in.weight"), tokens.narrow(1, 0, length));
  for (int64_t i = 0; i < shape_.layers; ++i) {
    const std::string prefix = "gpt_neox.layers." + std::to_string(i);
    const at::Tensor hidden = at::gelu(
        linear(norm(x, prefix + ".post_attention_layernorm"), prefix + ".mlp.dense_h_to_4h"));
    x = x + attention(norm(x, prefix + ".input_layernorm"), prefix + ".attention") +
        linear(hidden, prefix + ".mlp.dense_4h_to_h");
  }
  const at::Tensor logits =
      at::linear(norm(x, "gpt_neox.final_layer_norm"), get("embed_out.weight"));
  return at::cross_entropy_loss(logits.reshape({-1, shape_.vocabulary}),
                                tokens.narrow(1, 1, length).reshape({-1}));
}

}  // namespace quickstart
