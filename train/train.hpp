// The training loop.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "train/recipe.hpp"
#include "train/training_survey.hpp"

namespace quench {

struct TrainOptions {
  std::filesystem::path home;  // QUENCH_HOME
  // A state from which to go on is written at least this often, whatever the checkpoints.
  double state_seconds = 600;
  // Called when a leg begins, for people.
  std::function<void(const std::string& branch)> on_branch;
};

struct TrainOutcome {
  // Why a branch is not complete: a loss that is no number, data or a config that do not fit.
  std::map<std::string, Error> failures;
  int64_t steps = 0;  // made
  double seconds = 0;
  uint64_t parameters = 0;  // of the model; 0 when nothing was made
};

// Makes what is missing (survey_training): checkpoints, averages on the way, and the states that
// forks begin from. What is there is used, whoever made it; killed at any moment, the next call
// goes on from the last state, bit for bit, with the averages that are open. What is damaged is
// told in a warning and made again. Throws Error: CANCELLED when a stop was requested, after
// writing a state; RESOURCE_EXHAUSTED when the disk is full.
TrainOutcome train(Catalog& catalog, const Training& training, const TrainOptions& options);

}  // namespace quench
