// Runs experiments: each set of weights is opened once; its float model is measured, then each
// quantizer is applied in place, measured, and undone. What is finished already is not computed
// again.
#pragma once

#include <vector>

#include "core/experiment/experiment.hpp"
#include "core/plugin/catalog.hpp"
#include "core/store/record.hpp"
#include "run/runner_options.hpp"

namespace quench {

// The records of all cells, old and new, in the order weights, float model before quantizers,
// metric. A failed cell is a record with its error. Throws Error(CANCELLED) when a
// stop was requested; records finished by then have been passed to on_records. What
// check_experiment throws comes before on_start.
std::vector<Record> run_experiments(Catalog& catalog, const std::vector<Experiment>& experiments,
                                    const RunnerOptions& options);

}  // namespace quench
