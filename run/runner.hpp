// Runs experiments: opens each set of weights once, measures its float model, then
// applies, measures and undoes each quantizer in place. Does not compute finished cells
// again.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/hub/environment.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/store/record.hpp"
#include "run/grid/grid.hpp"
#include "run/row_folders.hpp"
#include "run/run_status.hpp"

namespace quench {

struct RunnerOptions {
  HubEnvironment hub;
  std::filesystem::path home;  // QUENCH_HOME, where tokenized text is kept; empty: nowhere
  // Where records come from and go to, so that no cell is computed twice; must outlive the run.
  // nullptr: nothing is remembered and records have no keys (`quench eval`).
  RunKnowledge* knowledge = nullptr;
  // For averages with `keep: true` and quantized weights with `export`; written only with the
  // knowledge of what a folder was made from.
  FolderPlaces places;
  std::string manifest;             // its text, for the model cards of kept averages
  WeightsSupply* supply = nullptr;  // brings weights that are not here; must outlive the run
  bool fresh = false;               // nothing counts as done
  bool retry_failed = false;        // failed cells are tried again
  // Throws at the first failure instead of continuing with the other cells.
  bool fail_fast = false;
  // Throws at a failure before the first value: then there is nothing to lose.
  bool fail_without_values = false;
};

// Returns the records of all cells, old and new, ordered by weights, float model before quantizers,
// metric. A failed cell is a record with its error. Throws Error(CANCELLED) after a stop request;
// records finished by then have been passed to status.keep(). Errors of check_experiment are thrown
// before status.begin().
std::vector<Record> run_experiments(Catalog& catalog, const std::vector<Experiment>& experiments,
                                    const RunnerOptions& options, RunStatus& status);

}  // namespace quench
