// The search for a group's channel scale.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "quantizers/awq/group.hpp"

namespace quench::quantizers {

// Mean squared error of an output for each of some scales.
using Losses = std::function<std::vector<double>(std::span<const std::vector<double>> scales)>;

// The candidate with the least loss, the first of equals. NUMERICAL where no loss is finite.
FoundScale search_scale(std::span<const Candidate> candidates, std::span<const double> inputs,
                        std::span<const ScaledWeight> weights, const Losses& losses);

}  // namespace quench::quantizers
