// Averages of weights that pass by and are written nowhere: the same plugins, in the same order of
// sums, as averages of checkpoints, so the same bits. Those that are open go with a state to disk,
// as far as their plugins hand out their sums (quench.averaging.sums/1).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/plugin/averaging_handle.hpp"
#include "train/recipe.hpp"
#include "train/training_survey.hpp"

namespace quench {

class LiveAverages {
 public:
  // Those of `averages` (indices `wanted`) that are to be made, of `elements` weights each.
  LiveAverages(Catalog& catalog, const std::vector<LiveAverage>& averages,
               std::vector<size_t> wanted, uint64_t elements, uint64_t tokens_per_step);
  ~LiveAverages();

  // Goes on from the state after `step`: the averages that were open there have the sums that were
  // saved with it. Throws Error(DATA_LOSS) when these do not fit.
  void resume(int64_t step, const TrainedStates& states, const StateKeys& keys);
  // Saves the sums of those that are open, for the state after the step taken last.
  void save(TrainedStates& states, const StateKeys& keys) const;
  // How far the training can go back for those that are open and cannot be saved: of each, the step
  // of the first member.
  std::vector<int64_t> begun_unsaved() const;
  // Indices in `averages` of those that are not finished.
  std::vector<size_t> unfinished() const;

  // Whether the weights after this step enter an average.
  bool needs(int64_t step) const;
  // Takes the weights after a step, in ascending order of steps.
  void take(int64_t step, std::span<const float> weights);

  struct Finished {
    size_t average;  // index in `averages`
    std::vector<float> weights;
  };
  // The averages that end at the step taken last, each once.
  std::vector<Finished> finished();

 private:
  struct Open;
  void begin(Open& open);

  Catalog& catalog_;
  const std::vector<LiveAverage>& averages_;
  uint64_t elements_;
  std::vector<std::unique_ptr<Open>> open_;
};

}  // namespace quench
