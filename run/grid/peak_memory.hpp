// Predicts from shapes what an experiment takes at its peak: what metrics hold besides the model,
// and what quantizing the models takes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/hub/environment.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/catalog/catalog.hpp"

namespace quench {

// Bytes at the peak of a metric; 0 if they are negligible.
struct MetricPeak {
  uint64_t all = 0;
  uint64_t host = 0;  // in host memory; of a model on a GPU, if it comes block by block
  // On a GPU, where the experiment names one: beside the whole model, and beside one that comes
  // block by block, whose vectors are in host memory.
  uint64_t device = 0;
  uint64_t device_by_block = 0;
};

// For an experiment's largest model.
struct MetricMemory {
  uint64_t parameters = 0;        // 0: not described
  uint64_t visiting = 0;          // bytes on a GPU of the model if its blocks take turns there
  std::vector<MetricPeak> peaks;  // by metric
};
// Of each experiment. Describes the models only if some metric needs them. Reads no weights and no
// corpora; what cannot be predicted is 0.
std::vector<MetricMemory> predict_metric_memory(Catalog& catalog,
                                                const std::vector<Experiment>& experiments,
                                                const HubEnvironment& hub);

// Bytes, for the model that needs the most of them.
struct PassPeak {
  uint64_t parameters = 0;  // elements; 0: no model could be described
  uint64_t host = 0;        // in host memory beside the program and the model
  // On a GPU, where the experiment names one: beside the whole model, on one that is large enough
  // to keep its float weights, too; beside a model that comes block by block.
  uint64_t device = 0;
  uint64_t device_by_block = 0;
  uint64_t visiting = 0;  // of the model on a GPU if its blocks take turns there: two of them and
                          // what belongs to none
};

// Parallel to the experiment's quantizers; reads no weights and no corpora. What cannot be
// predicted is 0. Loads the families and quantizers, which takes as long as a run needs for it.
std::vector<PassPeak> predict_pass_peaks(Catalog& catalog, const Experiment& experiment,
                                         const HubEnvironment& hub);

}  // namespace quench
