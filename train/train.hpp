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
  bool fresh = false;          // believes no remembered hash of what is there
  // Writes a resumable state at least this often, independently of the checkpoints.
  double state_seconds = 600;
  // Called when a segment begins, for progress messages.
  std::function<void(const std::string& branch)> on_branch;
};

struct TrainOutcome {
  // Why a branch is incomplete: a loss that is not finite, data or a config that do not fit.
  std::map<std::string, Error> failures;
  int64_t steps = 0;  // steps trained
  double seconds = 0;
  uint64_t parameters = 0;  // of the model; 0 if nothing was trained
};

// Makes what is missing (survey_training): checkpoints, averages along the way, and the states from
// which forks begin. Uses what exists, also what other runs made. After a kill at any moment, the
// next call continues from the last state, bit for bit, with the unfinished averages. Warns about
// damaged folders and makes them again. Throws Error: CANCELLED after a stop request, once it has
// written a state; RESOURCE_EXHAUSTED if the disk is full.
TrainOutcome train(Catalog& catalog, const Training& training, const TrainOptions& options);

}  // namespace quench
