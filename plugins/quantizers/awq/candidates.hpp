// The channel scales that a search tries (Lin et al. 2023, AWQ, section 3.2), as published tools
// have them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quantizers/awq/rounding.hpp"

namespace quench::quantizers {

// s = x^ratio / w^(1 - ratio) with `duo`, else x^ratio; x and w are the mean magnitudes of a
// channel in the inputs and, relative to the largest of their groups, in the weights.
struct Candidate {
  double ratio = 0;
  bool duo = false;
};

// `rule` "autoawq": ratios i / count. "llm_compressor": up to and with 1, and with `duo` first the
// identity. `duo` "on", "off", or "both": half of the count each.
std::vector<Candidate> candidates_of(const std::string& rule, const std::string& duo,
                                     int64_t count);

// Normalized so that its extremes are each other's reciprocals; 1 where a channel has no finite
// scale.
std::vector<double> channel_scale(const Candidate& candidate, std::span<const double> inputs,
                                  std::span<const double> weights);

// Adds to `sums` [columns] the magnitudes of a weight's channels, each relative to the largest of
// its row's group.
void add_relative_magnitudes(const ScaledWeight& weight, std::span<double> sums);

}  // namespace quench::quantizers
