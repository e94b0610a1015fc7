// The search for a group's channel scale.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "quantizers/awq/group.hpp"

namespace quench::quantizers {

// Computes the mean squared error of an output for each of the given scales.
using Losses = std::function<std::vector<double>(std::span<const std::vector<double>> scales)>;

// The candidate with the least loss (the first on ties). Throws NUMERICAL if no loss is finite.
FoundScale search_scale(std::span<const Candidate> candidates, std::span<const double> inputs,
                        std::span<const ScaledWeight> weights, const Losses& losses);

}  // namespace quench::quantizers
