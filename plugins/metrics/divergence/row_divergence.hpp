// Compares two distributions over the vocabulary.
#pragma once

#include <cstdint>
#include <span>

namespace quench::metrics {

struct RowDivergence {
  double kl = 0;  // Σ p (log p − log q), in nats
  bool same_top = false;
};

// p = softmax(first), q = softmax(second), logits of equal length. On ties the lowest id counts as
// the most likely one. Sums in float64 over fixed lanes; exponentials of float32 logits in float32.
RowDivergence row_divergence(std::span<const float> first, std::span<const float> second);
RowDivergence row_divergence(std::span<const double> first, std::span<const double> second);

}  // namespace quench::metrics
