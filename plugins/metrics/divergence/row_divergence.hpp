// Two distributions over the vocabulary, compared.
#pragma once

#include <cstdint>
#include <span>

namespace quench::metrics {

struct RowDivergence {
  double kl = 0;  // Σ p (log p − log q), in nats
  bool same_top = false;
};

// p = softmax(first), q = softmax(second), logits of equal length. The most likely id is the lowest
// one on ties. Sums in float64 over fixed lanes; float32 logits get float32 exponentials.
RowDivergence row_divergence(std::span<const float> first, std::span<const float> second);
RowDivergence row_divergence(std::span<const double> first, std::span<const double> second);

}  // namespace quench::metrics
