// One experiment in progress: a point of the sweep, or the only one.
#pragma once

#include "core/experiment/experiment.hpp"
#include "run/run_context.hpp"

namespace quench {

struct Job {
  const RunContext& run;
  const Experiment& experiment;
};

}  // namespace quench
