// Averages weights during training without writing the members. Plugins and order of summation are
// those of averages of checkpoints, so the bits are equal. A saved state includes the sums of
// unfinished averages if their plugins can export them (`sums_get`).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/plugin/handles/averaging_handle.hpp"
#include "train/recipe.hpp"
#include "train/training_survey.hpp"

namespace quench {

class LiveAverages {
 public:
  // Makes those `averages` whose indices are in `wanted`, each of `elements` weights.
  LiveAverages(Catalog& catalog, const std::vector<LiveAverage>& averages,
               std::vector<size_t> wanted, uint64_t elements, uint64_t tokens_per_step);
  ~LiveAverages();

  // Continues from the state after `step` and loads the sums saved with it for the averages that
  // were unfinished. Throws Error(DATA_LOSS) if they do not fit.
  void resume(int64_t step, const TrainedStates& states, const StateKeys& keys);
  // Saves the sums of unfinished averages, for the state after the last step.
  void save(TrainedStates& states, const StateKeys& keys) const;
  // For each unfinished average that cannot be saved, the step of its first member: training must
  // be able to go back there.
  std::vector<int64_t> begun_unsaved() const;
  // Indices into `averages` of those that are unfinished.
  std::vector<size_t> unfinished() const;

  // Whether an average includes the weights after this step.
  bool needs(int64_t step) const;
  // Adds the weights after a step; steps must ascend.
  void take(int64_t step, std::span<const float> weights);

  struct Finished {
    size_t average;  // index into `averages`
    std::vector<float> weights;
  };
  // The averages that end at the last step, each returned once.
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
