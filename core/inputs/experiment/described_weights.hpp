// What records say about the weights that were measured.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/inputs/experiment/experiment.hpp"

namespace quench {

// {model, revision, commit, branch, parent, mark, step, tokens, lr, phase}; null where not known.
nlohmann::json describe_checkpoint(const Experiment& experiment, const CheckpointCell& cell,
                                   const std::string& commit);

// {id, params, label, version, sha256, members}; null for a checkpoint as it is.
nlohmann::json describe_averaging(const Experiment& experiment, const WeightsCell& weights);

}  // namespace quench
