// Shared by all parts of a run.
#pragma once

#include "core/corpora/corpora.hpp"
#include "core/pass/metric_instances.hpp"
#include "core/plugin/catalog.hpp"
#include "run/cell_history.hpp"
#include "run/record_keeper.hpp"
#include "run/run_progress.hpp"
#include "run/runner_options.hpp"

namespace quench {

// Everything must outlive the run.
struct RunContext {
  Catalog& catalog;
  const RunnerOptions& options;
  Corpora& corpora;
  MetricInstances& metrics;
  CellHistory& history;
  RecordKeeper& keeper;
  RunProgress& progress;
  Claims* claims;  // or nullptr: this process does it all
};

}  // namespace quench
