// How many bits a quantized model has per weight.
#pragma once

#include <span>

namespace quench {

// One linear layer.
struct LayerBits {
  double bits_per_weight;
  double weights;  // out_features * in_features
};

// The mean over all weights; 0 for no layers. Summed in float64 in the order given.
double mean_bits(std::span<const LayerBits> layers);

}  // namespace quench
