// Runs an experiment: each checkpoint is opened once; its float model is measured, then each
// quantizer is applied in place, measured, and undone.
#pragma once

#include <functional>
#include <vector>

#include "core/hub/environment.hpp"
#include "core/plugin/catalog.hpp"
#include "core/run/experiment.hpp"
#include "core/store/record.hpp"

namespace quench {

struct RunnerOptions {
  HubEnvironment hub;
  // Called once, when everything that can be checked before work starts has been.
  std::function<void()> on_start;
  // Called for every finished record, failed cells included, in order. What it throws ends the run:
  // a record that cannot be kept is no reason to compute the next.
  std::function<void(const Record&)> on_record;
  // Called when a checkpoint or a quantizer of it begins, for people.
  std::function<void(const std::string&)> on_step;
  // Throw at the first failure instead of going on with the other cells.
  bool fail_fast = false;
};

// All records, in the order checkpoint, float model before quantizers, metric, derived values. A
// failed cell is a record with its error. Throws Error(CANCELLED) when a stop was requested;
// records finished by then have been passed to on_record. What check_experiment throws comes before
// on_start.
std::vector<Record> run_experiment(Catalog& catalog, const Experiment& experiment,
                                   const RunnerOptions& options);

}  // namespace quench
