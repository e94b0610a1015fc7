#include "core/arithmetic/mean_bits.hpp"

namespace quench {

double mean_bits(std::span<const LayerBits> layers) {
  double bits = 0;
  double weights = 0;
  for (const LayerBits& layer : layers) {
    bits += layer.bits_per_weight * layer.weights;
    weights += layer.weights;
  }
  return weights > 0 ? bits / weights : 0;
}

}  // namespace quench
