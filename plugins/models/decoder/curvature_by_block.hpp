// quench.model.hvp/1 of a model that comes block by block: nothing is kept between products but the
// batch, and each product brings every block twice.
#pragma once

#include <optional>
#include <vector>

#include "models/decoder/curvature.hpp"
#include "models/decoder/tangents.hpp"

namespace quench::decoder {

// The Hessian is forward-over-reverse whichever of its two kinds is asked for: the graph of double
// backward would need all blocks at once.
class CurvatureByBlock final : public Curvature {
 public:
  CurvatureByBlock(Decoder& model, const quench_loss_args& args, int32_t kind,
                   const quench_tensor* gradient);

  double loss() const override { return loss_; }
  void add_product(const quench_tensor& v, const quench_tensor& to) override;

 private:
  // Rows [N, width] and how they change along v.
  struct Moving {
    at::Tensor value;
    at::Tensor tangent;
  };
  // A product in the making.
  struct Product {
    const at::Tensor& v;   // in host memory
    const at::Tensor& to;  // likewise
    Tangents tangents = {};
  };

  bool is_gauss_newton() const;
  AutogradMode mode() const;
  // Leaves of the weights of a block, or of those that belong to none, in their order, which the
  // scope uses from now on.
  std::vector<at::Tensor> leaves(const Product& product, std::optional<uint32_t> block,
                                 AutogradScope& scope, bool move, bool differentiate) const;
  // What enters each block, and what leaves the last one.
  std::vector<Moving> forward(const Product& product) const;
  // Loss, head and last norm: the derivative by what leaves the last block. For Gauss-Newton it
  // does not change along v.
  at::Tensor back_from_loss(const Product& product, const Moving& last) const;
  // The derivative by what enters a block.
  at::Tensor back_through(const Product& product, uint32_t block, const Moving& first,
                          const at::Tensor& by_output) const;
  // Adds what belongs to v of the derivatives by the weights of a part to the product.
  void add_part(const Product& product, std::optional<uint32_t> block,
                const std::vector<at::Tensor>& derivatives) const;
  // The part of a derivative that belongs to v.
  at::Tensor along(const Product& product, const at::Tensor& derivative) const;

  Decoder& model_;
  LossBatch given_;
  double weight_;
  int32_t kind_;
  double loss_ = 0;
};

}  // namespace quench::decoder
