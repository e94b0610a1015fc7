// The change that rounded weights make to a block's output, measured by running the block.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quantizers/awq/rounding.hpp"

namespace quench::quantizers {

struct NamedWeight {
  std::string parameter;
  ScaledWeight weight;
};

// For each channel scale, the mean squared change over all calibration tokens of the first carried
// tensors that change, without the input of the next group: the residual stream, or a branch that
// is later added to it. This equals the change of a parent module's output (attention for q, k and
// v, the MLP for gate and up), because everything else that is added stays the same. Batches run
// one after the other, so only one batch's outputs are held, and weights are rounded again for
// each. Weights are rounded, and outputs compared, where they are. Throws FAILED_PRECONDITION if
// the host lacks the service (quench/abi/extension/block.h).
std::vector<double> replay_losses(std::span<const NamedWeight> weights,
                                  std::span<const std::vector<double>> scales);

}  // namespace quench::quantizers
