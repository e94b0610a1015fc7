#include "core/run/open_weights.hpp"

#include "core/error.hpp"

namespace quench {

OpenWeights open_weights(Catalog& catalog, const Experiment& experiment, const WeightsCell& weights,
                         const HubEnvironment& hub) {
  const CheckpointCell& cell = experiment.checkpoints[weights.checkpoint];
  OpenCheckpoint open = open_checkpoint(catalog, cell, hub, experiment.dtype, experiment.device);
  return {std::move(open.folder), std::move(open.model)};
}

TokenizerChoice choose_tokenizer(const Experiment& experiment, const CheckpointFolder& folder) {
  if (!experiment.tokenizer.empty()) {
    return TokenizerChoice(experiment.tokenizer, "");
  }
  std::optional<std::string> path;
  if (folder.tokenizer) {
    path = folder.tokenizer->string();
  }
  return TokenizerChoice(path, fmt::format("{}: has no tokenizer.json, and text is to be "
                                           "tokenized; name a tokenizer, or give token ids",
                                           folder.path.string()));
}

}  // namespace quench
