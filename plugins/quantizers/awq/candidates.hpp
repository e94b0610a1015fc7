// The channel scales that a search tries (Lin et al. 2023, AWQ, section 3.2), in the versions of
// published tools.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quantizers/awq/rounding.hpp"

namespace quench::quantizers {

// s = x^ratio / w^(1 - ratio) with `duo`, otherwise x^ratio. x is a channel's mean magnitude in the
// inputs, w its mean magnitude in the weights relative to the largest in each group.
struct Candidate {
  double ratio = 0;
  bool duo = false;
};

// `rule` "autoawq": ratios i / count below 1. "llm_compressor": ratios up to and including 1; with
// `duo`, the identity comes first. `duo` is "on", "off", or "both" (half of the count each).
std::vector<Candidate> candidates_of(const std::string& rule, const std::string& duo,
                                     int64_t count);

// Normalized so that the largest and smallest scale are reciprocals; 1 for a channel without a
// finite scale.
std::vector<double> channel_scale(const Candidate& candidate, std::span<const double> inputs,
                                  std::span<const double> weights);

// Adds the magnitudes of a weight's channels to `sums` [columns], each relative to the largest in
// its row's group.
void add_relative_magnitudes(const ScaledWeight& weight, std::span<double> sums);

}  // namespace quench::quantizers
