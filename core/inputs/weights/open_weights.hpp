// A set of weights of the grid as a model in memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/checkpoint/checkpoint_folder.hpp"
#include "core/inputs/averaging/average_source.hpp"
#include "core/inputs/corpora/tokenizer.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/plugin/handles/model_handle.hpp"

namespace quench {

struct OpenWeights {
  CheckpointFolder folder;  // of the checkpoint, or of an average's last member
  ModelHandle model;
  std::vector<double> found;  // member weights that a searching scheme chose; empty otherwise
  std::vector<std::string> warnings = {};  // of the plugins that opened files and model
};

// How good a model is, lower is better; for schemes that search.
using ModelScore = std::function<double(ModelHandle& model, const CheckpointFolder& folder)>;

// The files of a checkpoint; where values have keys, held to what the keys say of them.
using OpenFiles = std::function<CheckpointFolder(const CheckpointCell& cell)>;

// Opens the checkpoint, or the average of its members, which is never written anywhere. Throws
// Error.
OpenWeights open_weights(Catalog& catalog, const Experiment& experiment, const WeightsCell& weights,
                         const OpenFiles& open_files, const ModelScore& score);

// Name, place and order of the members of an average, without their files.
std::vector<AverageMember> members_of(const Experiment& experiment, const WeightsCell& weights);

// The tokenizer of the branch or of the manifest, or the checkpoint's own; that there is none is
// told when text is to be tokenized.
TokenizerChoice choose_tokenizer(Catalog& catalog, const Experiment& experiment,
                                 const CheckpointCell& cell, const CheckpointFolder& folder);

}  // namespace quench
