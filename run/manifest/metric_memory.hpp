// What metrics will hold beside the model, from shapes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/experiment/experiment.hpp"
#include "core/hub/environment.hpp"
#include "core/plugin/catalog.hpp"

namespace quench {

// Of an experiment's largest model.
struct MetricMemory {
  uint64_t parameters = 0;      // 0: not described
  std::vector<uint64_t> bytes;  // by metric, at its peak; 0 where it is nothing to speak of
};
// Describes the models only where a metric of the experiment is known to need them. Reads no
// weights and no corpora; what cannot be told is 0.
MetricMemory predict_metric_memory(Catalog& catalog, const Experiment& experiment,
                                   const HubEnvironment& hub);

}  // namespace quench
