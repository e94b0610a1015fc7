// The outputs of one linear by itself.
#pragma once

#include "quantizers/autoround/tuning.hpp"
#include "quantizers/gram/gram.hpp"

namespace quench::quantizers {

// The mean squared error of the outputs, tr(D G D') / (rows * out) with D = rounded - weight, and
// its derivative, 2 D G / (rows * out), from the Gram matrix G of all rows: one batch.
class LinearObjective final : public Objective {
 public:
  // Both outlive this object.
  LinearObjective(TunedLinear& linear, Gram& gram);
  std::vector<int64_t> batches() const override { return {1}; }
  double descend(std::span<const uint64_t> batches) override;
  double loss() override;

 private:
  // D G, and the loss.
  double errors(at::Tensor& weighted) const;

  TunedLinear& linear_;
  at::Tensor gram_;  // dtype of the weight, host memory
  double outputs_;
};

}  // namespace quench::quantizers
