// Checkpoints that a command line names, without a manifest.
#pragma once

#include <string>
#include <vector>

#include "core/inputs/experiment/experiment.hpp"

namespace quench {

// A checkpoint from the command line: a folder, a file, or hf://org/name[@revision].
CheckpointCell single_checkpoint(const std::string& model);

// Makes each checkpoint a set of weights.
std::vector<WeightsCell> weights_as_they_are(const std::vector<CheckpointCell>& checkpoints);

}  // namespace quench
