// Texts that begin alike, as rows that continue other rows.
#pragma once

#include <cstdint>
#include <vector>

#include "quench/kit/metric.hpp"

namespace quench::tasks {

// Ids of which those from `scored_from` on are scored; at least one id before that.
struct ScoredText {
  std::vector<int32_t> ids;
  size_t scored_from = 1;
};

// Σ log p of the scored ids of each text, in nats and in order. What texts share goes through the
// model once; `fed` is how many different ids there were.
std::vector<double> log_likelihoods(const kit::Evaluation& evaluation,
                                    const std::vector<ScoredText>& texts, uint64_t* fed);

}  // namespace quench::tasks
