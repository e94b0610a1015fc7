// The change that rounded weights make to what a block carries on, found by running it.
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

// For each channel scale the mean squared change, over all calibration tokens, of the first tensors
// that change beside the input of the next group: the residual stream, or a branch that is still to
// be added to it. That is the change of a parent module's output (attention for q, k and v, the MLP
// for gate and up), since all else that is added is the same. Batches one after the other, so that
// one batch's outputs are held, and weights are rounded anew for each.
// FAILED_PRECONDITION without the host's service (quench/abi/extension/block.h).
std::vector<double> replay_losses(std::span<const NamedWeight> weights,
                                  std::span<const std::vector<double>> scales);

}  // namespace quench::quantizers
