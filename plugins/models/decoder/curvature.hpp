// quench.model.hvp/1: products of a batch's second derivative with vectors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/decoder.hpp"
#include "models/decoder/loss_batch.hpp"

namespace quench::decoder {

// The loss of a batch around the weights of the moment. Keeps the graph of what all products
// share: forward and backward for the Hessian by double backward (double_backward/hvp_vectors.hpp),
// the forward for Gauss-Newton; forward-over-reverse shares nothing. Outlives neither the model nor
// a weight_set.
class Curvature {
 public:
  // Adds weight * dloss/dθ to the flat vector `gradient` where that is not null. Throws UNSUPPORTED
  // for a model in 16 bits, a linear with a replacement, an unknown kind.
  Curvature(Decoder& model, const quench_loss_args& args, int32_t kind,
            const quench_tensor* gradient);

  double loss() const { return loss_; }
  // Adds weight * H v to the flat vector.
  void add_product(const quench_tensor& v, const quench_tensor& to);

 private:
  // What of a parameter is in the graph: the leaf in its place.
  struct Leaf {
    size_t parameter;
    at::Tensor value;
  };
  struct Forward {
    at::Tensor logits;  // [N, vocabulary]
    at::Tensor losses;  // [scored]
  };

  // Double backward: the graph of forward and backward, and `to` += weight * dloss/dθ where that is
  // defined.
  void record(const at::Tensor& to);
  // to += weight * H v.
  void walk(const at::Tensor& v, const at::Tensor& to);
  // Adds what the leaves and the rows of the embedding received.
  void add_received(const std::vector<at::Tensor>& received, const at::Tensor& to) const;

  // With `leaves` in place of the weights.
  Forward forward(const std::vector<at::Tensor>& leaves, AutogradMode mode);
  // weight * dlosses/dleaves.
  std::vector<at::Tensor> gradients(const at::Tensor& losses,
                                    const std::vector<at::Tensor>& leaves) const;
  std::vector<at::Tensor> gauss_newton(const std::vector<at::Tensor>& v);
  std::vector<at::Tensor> forward_over_reverse(const std::vector<at::Tensor>& v);
  // Parts that depend on nothing are undefined.
  void add(const std::vector<at::Tensor>& parts, const at::Tensor& to) const;

  Decoder& model_;
  LossBatch given_;
  double weight_;
  int32_t kind_;
  double loss_ = 0;
  // Double backward.
  SharedHvpVectors vectors_;
  std::vector<Leaf> leaves_;           // of operations that are composed
  at::Tensor rows_;                    // of the embedding, [N, width]
  std::vector<at::Tensor> gradients_;  // of rows_ and of each leaf
  std::vector<at::Tensor> roots_;
  // The others.
  std::vector<at::Tensor> weights_;  // leaves by parameter
  at::Tensor losses_;                // Gauss-Newton keeps the graph behind
  at::Tensor logits_;                // these two
};

}  // namespace quench::decoder
