// Scores texts with common prefixes, as rows that continue other rows.
#pragma once

#include <cstdint>
#include <vector>

#include "quench/kit/metric.hpp"

namespace quench::tasks {

// Token ids, scored from index `scored_from` on; at least one id comes before that.
struct ScoredText {
  std::vector<int32_t> ids;
  size_t scored_from = 1;
};

// Σ log p of the scored ids of each text, in nats, in the given order. A shared prefix goes through
// the model once; `fed` is the number of ids that did.
std::vector<double> log_likelihoods(const kit::Evaluation& evaluation,
                                    const std::vector<ScoredText>& texts, uint64_t* fed);

}  // namespace quench::tasks
