// A small GPT-NeoX: parallel residual, rotary embedding on a quarter of each head, untied output.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace quickstart {

struct Shape {
  int64_t layers = 3;
  int64_t width = 96;
  int64_t heads = 4;
  double rotary_fraction = 0.25;
  int64_t vocabulary = 256;
  int64_t positions = 128;
  double norm_epsilon = 1e-5;
};

struct Parameter {
  std::string name;  // as in a Hugging Face checkpoint
  at::Tensor value;  // fp32, requires its gradient
};

class Transformer {
 public:
  // Weights are drawn from libtorch's generator as Pythia's are: N(0, 2 / (5 width)), and the
  // projections back into the residual stream N(0, (2 / (layers sqrt(width)))²).
  explicit Transformer(const Shape& shape);

  // Mean cross entropy in nats of predicting tokens [.., 1:] from tokens [.., :-1]; int64 [B, T+1].
  at::Tensor loss(const at::Tensor& tokens) const;

  const Shape& shape() const { return shape_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }

 private:
  const at::Tensor& get(const std::string& name) const;
  at::Tensor norm(const at::Tensor& x, const std::string& name) const;
  at::Tensor linear(const at::Tensor& x, const std::string& name) const;
  at::Tensor rotate(const at::Tensor& x) const;
  at::Tensor attention(const at::Tensor& x, const std::string& prefix) const;

  Shape shape_;
  std::vector<Parameter> parameters_;
  at::Tensor cosines_;  // [positions, rotary dimensions]
  at::Tensor sines_;
};

}  // namespace quickstart
