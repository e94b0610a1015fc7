// Finds what exists of a training and what remains to be done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/recipe.hpp"
#include "train/state_keys.hpp"
#include "train/trained_states.hpp"

namespace quench {

// The key of an average: of its plugin, its parameters and the states that it includes.
std::string live_average_key(const LiveAverage& average, const StateKeys& keys);

// How many members of an average are at or before a step.
size_t members_until(const LiveAverage& average, int64_t step);

// The steps of a branch from a state to the last missing output.
struct TrainingSegment {
  size_t branch = 0;
  int64_t from = 0;  // step of an existing state, or 0: drawn weights
  int64_t to = 0;
  std::vector<int64_t> checkpoints;  // steps whose weights are to be written, ascending
  std::vector<int64_t> states;       // steps whose state is kept: where forks begin, and the end
  std::vector<size_t> averages;      // indices of the branch's averages to make
  // If a later state of the branch exists but cannot be used: its step, and why.
  int64_t passed_over = 0;
  std::string reason;
  int64_t steps() const { return to - from; }
};

// Segments in the order of training; none if nothing is missing.
std::vector<TrainingSegment> survey_training(const Training& training, const TrainedStates& states);

// The keys of all branches, in their order.
std::vector<StateKeys> state_keys(const Training& training);

}  // namespace quench
