// Predicts from shapes what metrics will hold besides the model.
#pragma once

#include <cstdint>
#include <vector>

#include "core/experiment/experiment.hpp"
#include "core/hub/environment.hpp"
#include "core/plugin/catalog.hpp"

namespace quench {

// For an experiment's largest model.
struct MetricMemory {
  uint64_t parameters = 0;      // 0: not described
  std::vector<uint64_t> bytes;  // by metric, at its peak; 0 if negligible
};
// Describes the models only if some metric needs them. Reads no weights and no corpora; what cannot
// be predicted is 0.
MetricMemory predict_metric_memory(Catalog& catalog, const Experiment& experiment,
                                   const HubEnvironment& hub);

}  // namespace quench
