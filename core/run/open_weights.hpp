// A set of weights of the grid as a model in memory.
#pragma once

#include "core/checkpoint/checkpoint_folder.hpp"
#include "core/plugin/model_handle.hpp"
#include "core/run/corpora.hpp"
#include "core/run/experiment.hpp"
#include "core/run/open_checkpoint.hpp"

namespace quench {

struct OpenWeights {
  CheckpointFolder folder;  // of the checkpoint, or of an average's last member
  ModelHandle model;
};

// Opens the checkpoint, or the average of its members, which is never written anywhere. Throws
// Error.
OpenWeights open_weights(Catalog& catalog, const Experiment& experiment, const WeightsCell& weights,
                         const HubEnvironment& hub);

// The manifest's tokenizer, or the one beside the checkpoint; that there is none is told when text
// is to be tokenized.
TokenizerChoice choose_tokenizer(const Experiment& experiment, const CheckpointFolder& folder);

}  // namespace quench
