// Runs experiments: opens each set of weights once, measures its float model, then
// applies, measures and undoes each quantizer in place. Does not compute finished cells
// again.
#pragma once

#include <vector>

#include "core/experiment/experiment.hpp"
#include "core/plugin/catalog.hpp"
#include "core/store/record.hpp"
#include "run/runner_options.hpp"

namespace quench {

// Returns the records of all cells, old and new, ordered by weights, float model before quantizers,
// metric. A failed cell is a record with its error. Throws Error(CANCELLED) after a stop request;
// records finished by then have been passed to on_records. Errors of check_experiment are thrown
// before on_start.
std::vector<Record> run_experiments(Catalog& catalog, const std::vector<Experiment>& experiments,
                                    const RunnerOptions& options);

}  // namespace quench
