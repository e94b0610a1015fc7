// The output of a whole block, which the host runs with the rounded weights.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quantizers/autoround/tuning.hpp"
#include "quench/abi/extension/block.h"

namespace quench::quantizers {

// The block whose calibration batches the host holds at its first stage; its `info` is null outside
// of a pass over a model. Throws FAILED_PRECONDITION if the host cannot differentiate a block.
quench_replay_place find_block();

// The model's weight, in float32, or in float64 if `float64`, in host memory.
at::Tensor block_weight(const quench_linear_info& linear, bool float64);

// What the outputs are to become.
enum class Target {
  kFloatModel,  // the float model's outputs, from the float model's inputs
  kOwnInput,    // the float block's outputs, from the inputs that the rounded blocks before it give
};

// The mean squared error of the residual stream after the block.
class BlockObjective final : public Objective {
 public:
  // The linears outlive this object.
  BlockObjective(const quench_replay_place& place, std::span<TunedLinear* const> linears,
                 Target target);
  std::vector<int64_t> batches() const override { return tokens_; }
  double descend(std::span<const uint64_t> batches) override;
  double loss() override;

 private:
  // What the stream is to become after this batch.
  at::Tensor target(uint64_t batch) const;
  std::vector<quench_overlay> overlays() const;

  quench_replay_place place_;
  std::span<TunedLinear* const> linears_;
  Target kind_;
  std::vector<int64_t> tokens_;
  int64_t width_ = 0;
  std::vector<at::Tensor> own_;  // kOwnInput: of each batch
};

}  // namespace quench::quantizers
