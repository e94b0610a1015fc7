// What a run is expected to take, before it begins.
#pragma once

#include <optional>
#include <vector>

#include "cli/manifest_options.hpp"
#include "cli/run_eta.hpp"
#include "run/grid/estimate.hpp"
#include "run/grid/training_cost.hpp"

namespace quench {

// The training of each point of the sweep; points that train the same thing count once.
std::vector<TrainingCost> training_of(const LoadedRun& run, Context& context, const Rates& rates);

struct ExpectedRun {
  ExpectedWork training;  // a piece per segment
  ExpectedWork cells;
  // Nothing if part of the work was never measured on this machine.
  std::optional<double> seconds() const;
};
// Draws no model whose training was never measured here.
ExpectedRun expected_run(const LoadedRun& run, const std::vector<Cell>& cells,
                         RunKnowledge& knowledge, const Rates& rates, Context& context);

}  // namespace quench
