// The error of the residual stream after each block of a model, in two parts.
#pragma once

#include <cstdint>
#include <vector>

#include "metrics/error_decomposition/moments.hpp"
#include "metrics/shared/weight_swap.hpp"

namespace quench::metrics {

// Sums of squares over all positions, after one block: h of the float model, ĥ of the quantized
// one, and g, what the float block makes of the quantized model's input.
struct LayerSums {
  double size = 0;         // Σ h²
  double error = 0;        // Σ (ĥ − h)²
  double accumulated = 0;  // Σ (g − h)²
  double added = 0;        // Σ (ĥ − g)²
  double product = 0;      // Σ (g − h)(ĥ − g)
};

struct LayerErrors {
  LayerSums embedding;            // before the first block: its error, and nothing to split
  std::vector<LayerSums> layers;  // [blocks of the model]
  std::vector<Moments> residual;  // [blocks of the model]: of h
  // After the last block, of each block of text.
  std::vector<double> last_error, last_size;
};

// Runs `blocks` rows of `block` ids through both models side by side, as one whose weights are
// swapped, and each float block once more, from the quantized model's input. Throws the model's
// errors, and NUMERICAL for a residual stream that is not finite.
LayerErrors layer_errors(const quench_subject& subject, WeightSwap& swap, const int32_t* ids,
                         int64_t blocks, int64_t block);

}  // namespace quench::metrics
