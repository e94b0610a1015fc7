// One segment of a training: from a state, step by step, to the last missing output.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "train/live_averages.hpp"
#include "train/training_batches.hpp"
#include "train/training_log.hpp"
#include "train/training_model.hpp"
#include "train/training_survey.hpp"

namespace quench {

// The folder from which a segment should continue differs from what was written.
class DamagedState : public Error {
 public:
  DamagedState(std::filesystem::path folder, const std::string& fault)
      : Error(QUENCH_DATA_LOSS, fault), folder_(std::move(folder)) {}
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

class SegmentTrainer {
 public:
  // All arguments must outlive the trainer; `validation` may be nullptr. Reads the state where the
  // segment begins and checks every byte of it. Throws DamagedState, also if another process has
  // removed the state, and Error like TrainingModel.
  SegmentTrainer(Catalog& catalog, const Training& training, const TrainingSegment& segment,
                 TrainedStates& states, const TrainingBatches& batches,
                 const TrainingBatches* validation, double state_seconds);
  // Throws Error: CANCELLED after a stop request, and DamagedTokens; both after writing a state of
  // the last step.
  void run();
  uint64_t parameters() const { return model_.size(); }

 private:
  using Clock = std::chrono::steady_clock;
  // An existing state: the segment began from it, has written it, or found it ahead.
  struct State {
    std::string key;
    bool keeps_weights = true;
    bool keeps_optimizer = true;
  };

  static TrainingModel open(Catalog& catalog, const TrainingRecipe& recipe, int64_t from,
                            const TrainedStates& states, const StateKeys& keys);
  void take_over();
  void announce() const;
  void stand_on(int64_t step);
  void check_sums(const LiveAverage& average) const;
  void continue_log();
  TrainingRow make_step(int64_t step);
  double train_on(int64_t step);
  double batch_loss(int64_t step);
  double update(int64_t step, double lr);
  bool wants_validation(int64_t step) const;
  std::string where() const;
  std::optional<double> validation_loss(int64_t step);
  void write(int64_t step);
  void take_averages(int64_t step);
  void write_state(int64_t step);
  void drop_before(int64_t step);
  void say(const TrainingRow& row) const;
  void keep_progress(int64_t step);
  [[noreturn]] void stop(int64_t step);
  CheckpointFiles files(int64_t step, const State& state) const;

  const Training& training_;
  TrainingRecipe recipe_;  // of the branch
  const TrainingBranch& branch_;
  const TrainingSegment& segment_;
  TrainedStates& states_;
  const TrainingBatches& batches_;
  const TrainingBatches* validation_;
  double state_seconds_;
  StateKeys keys_;
  TrainingModel model_;
  LiveAverages averages_;
  TrainingLog log_;
  std::optional<double> product_rate_;  // floating-point operations per second
  double flops_per_step_ = 0;
  int64_t last_ = 0;                   // step of the last state written, or the first one
  std::map<int64_t, State> standing_;  // by step
  Clock::time_point last_written_;
};

}  // namespace quench
