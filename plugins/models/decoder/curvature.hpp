// quench.model.hvp/1: products of a batch's second derivative with vectors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "models/decoder/decoder.hpp"
#include "models/decoder/loss_batch.hpp"
#include "models/decoder/recorder.hpp"

namespace quench::decoder {

// The loss of a batch around the weights of the moment. Keeps the graph of what all products
// share: forward and backward for the Hessian by double backward, the forward for Gauss-Newton;
// forward-over-reverse shares nothing. Outlives neither the model nor a weight_set.
class Curvature {
 public:
  // Throws UNSUPPORTED for a model in 16 bits, a linear with a replacement, an unknown kind.
  Curvature(Decoder& model, const quench_loss_args& args, int32_t kind);

  double loss() const { return loss_; }
  // Adds weight * dloss/dθ to the flat vector.
  void add_gradient(const quench_tensor& to);
  // Adds weight * H v to the flat vector.
  void add_product(const quench_tensor& v, const quench_tensor& to);

 private:
  struct Forward {
    at::Tensor logits;  // [N, vocabulary]
    at::Tensor losses;  // [scored]
  };
  // With `leaves` in place of the weights.
  Forward forward(const std::vector<at::Tensor>& leaves, Form form);
  // weight * dlosses/dleaves; with `graph`, to be differentiated again.
  std::vector<at::Tensor> gradients(const at::Tensor& losses, const std::vector<at::Tensor>& leaves,
                                    bool graph) const;
  std::vector<at::Tensor> by_double_backward(const std::vector<at::Tensor>& v) const;
  std::vector<at::Tensor> gauss_newton(const std::vector<at::Tensor>& v);
  std::vector<at::Tensor> forward_over_reverse(const std::vector<at::Tensor>& v);
  // Parts that depend on nothing are undefined.
  void add(const std::vector<at::Tensor>& parts, const quench_tensor& to, const char* what) const;

  Decoder& model_;
  LossBatch given_;
  double weight_;
  int32_t kind_;
  double loss_ = 0;
  std::vector<at::Tensor> leaves_;     // by parameter
  at::Tensor losses_;                  // Gauss-Newton keeps the graph behind
  at::Tensor logits_;                  // these two,
  std::vector<at::Tensor> gradients_;  // double backward that behind these
};

}  // namespace quench::decoder
