// What a run is expected to take, before it begins.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "run/grid/estimate.hpp"
#include "run/grid/run_eta.hpp"
#include "run/grid/training_cost.hpp"

namespace quench {

// The experiments (indices) that train and lack none of their data; those that train the same thing
// count once.
std::vector<size_t> trainings_of(const std::vector<Experiment>& experiments);
// What these trainings will cost.
std::vector<TrainingCost> training_of(Catalog& catalog, const std::vector<Experiment>& experiments,
                                      const std::filesystem::path& home, const Rates& rates);

struct ExpectedRun {
  ExpectedWork training;  // a piece per segment
  ExpectedWork cells;
  // Nothing if part of the work was never measured on this machine.
  std::optional<double> seconds() const;
};
// Draws no model whose training was never measured here.
ExpectedRun expected_run(const std::vector<Experiment>& experiments, const std::vector<Cell>& cells,
                         Identities& identities, const Rates& rates,
                         const std::filesystem::path& home);

}  // namespace quench
