// Checkpoints that a command line names, without a manifest.
#pragma once

#include <string>
#include <vector>

#include "core/experiment/experiment.hpp"

namespace quench {

// A single checkpoint as given on the command line: a folder, a file, or hf://org/name[@revision].
CheckpointCell single_checkpoint(const std::string& model);

// Each checkpoint as a set of weights of its own.
std::vector<WeightsCell> weights_as_they_are(const std::vector<CheckpointCell>& checkpoints);

}  // namespace quench
