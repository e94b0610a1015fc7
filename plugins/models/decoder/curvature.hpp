// quench.model.hvp/1: products of a batch's Hessian with vectors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/decoder.hpp"
#include "models/decoder/loss_batch.hpp"

namespace quench::decoder {

// The loss of a batch, expanded around the current weights. Must be destroyed before the model and
// before any weight_set.
class Curvature {
 public:
  virtual ~Curvature() = default;
  virtual double loss() const = 0;
  // Adds weight * H v to the flat vector `to`.
  virtual void add_product(const quench_tensor& v, const quench_tensor& to) = 0;
};

// For a model that is on its device as a whole. Keeps the graph that all products share: forward
// and backward for the Hessian by double backward (double_backward/hvp_vectors.hpp), the forward
// for Gauss-Newton. Forward-over-reverse shares nothing.
class ResidentCurvature final : public Curvature {
 public:
  // Adds weight * dloss/dθ to the flat vector `gradient` if that is not null. Throws UNSUPPORTED
  // for a linear with a replacement.
  ResidentCurvature(Decoder& model, const quench_loss_args& args, int32_t kind,
                    const quench_tensor* gradient);

  double loss() const override { return loss_; }
  void add_product(const quench_tensor& v, const quench_tensor& to) override;

 private:
  // The leaf that stands for a parameter in the graph.
  struct Leaf {
    size_t parameter;
    at::Tensor value;
  };
  struct Forward {
    at::Tensor logits;  // [N, vocabulary]
    at::Tensor losses;  // [scored]
  };

  // Double backward: records the graph of forward and backward, and adds weight * dloss/dθ to `to`
  // if that is defined.
  void record(const at::Tensor& to);
  // to += weight * H v.
  void walk(const at::Tensor& v, const at::Tensor& to);
  // Adds what the leaves and the embedding's rows received to `to`.
  void add_received(const std::vector<at::Tensor>& received, const at::Tensor& to) const;

  // Runs the forward with `leaves` in place of the weights.
  Forward forward(const std::vector<at::Tensor>& leaves, AutogradMode mode);
  // weight * dlosses/dleaves.
  std::vector<at::Tensor> gradients(const at::Tensor& losses,
                                    const std::vector<at::Tensor>& leaves) const;
  std::vector<at::Tensor> gauss_newton(const std::vector<at::Tensor>& v);
  std::vector<at::Tensor> forward_over_reverse(const std::vector<at::Tensor>& v);
  // Undefined parts depend on nothing and are skipped.
  void add(const std::vector<at::Tensor>& parts, const at::Tensor& to) const;

  Decoder& model_;
  LossBatch given_;
  double weight_;
  int32_t kind_;
  double loss_ = 0;
  // Used by double backward.
  SharedHvpVectors vectors_;
  std::vector<Leaf> leaves_;           // of the operations that are composed
  at::Tensor rows_;                    // of the embedding, [N, width]
  std::vector<at::Tensor> gradients_;  // of rows_ and of each leaf
  std::vector<at::Tensor> roots_;
  // Used by the other kinds.
  std::vector<at::Tensor> weights_;  // one leaf per parameter
  at::Tensor losses_;                // Gauss-Newton keeps the graph of losses_ and
  at::Tensor logits_;                // logits_
};

}  // namespace quench::decoder
