// Shows how a run splits into shares.
#pragma once

#include <vector>

#include "cli/manifest_options.hpp"
#include "run/grid/estimate.hpp"
#include "run/grid/shares.hpp"

namespace quench {

// `cells` and `cost`: of the whole run, for the time that this machine would need.
void print_shares(const LoadedRun& run, const Shares& shares, const std::vector<Cell>& cells,
                  const PlanCost& cost);
void answer_shares(const LoadedRun& run, const Shares& shares, const std::vector<Cell>& cells,
                   const PlanCost& cost);

}  // namespace quench
