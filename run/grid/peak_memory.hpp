// Predicts from shapes what quantizing the models of an experiment takes at its peak.
#pragma once

#include <cstdint>
#include <vector>

#include "core/hub/environment.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/catalog/catalog.hpp"

namespace quench {

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
