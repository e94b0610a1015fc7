// What of a training is there, and what is to be done for the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/recipe.hpp"
#include "train/state_keys.hpp"
#include "train/trained_states.hpp"

namespace quench {

// The name of an average: of its plugin, its parameters and the states that enter.
std::string live_average_key(const LiveAverage& average, const StateKeys& keys);

// How many members of an average are at or before a step.
size_t members_until(const LiveAverage& average, int64_t step);

// The way from a state to the last thing that is missing on a branch.
struct TrainingLeg {
  size_t branch = 0;
  int64_t from = 0;  // a state that is there, or 0: drawn
  int64_t to = 0;
  std::vector<int64_t> checkpoints;  // steps whose weights are to be written, ascending
  std::vector<int64_t> states;       // steps whose state is kept: where forks begin, and the end
  std::vector<size_t> averages;      // of the branch, to be made
  // Where a later state of the branch is there, its step, and why it does not do.
  int64_t passed_over = 0;
  std::string reason;
  int64_t steps() const { return to - from; }
};

// Legs in the order in which they are trained; none where nothing is missing.
std::vector<TrainingLeg> survey_training(const Training& training, const TrainedStates& states);

// The keys of all branches, in their order.
std::vector<StateKeys> state_keys(const Training& training);

}  // namespace quench
