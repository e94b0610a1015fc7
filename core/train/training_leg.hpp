// One leg of a training: from a state, step by step, to the last thing that is missing.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/train/live_averages.hpp"
#include "core/train/training_batches.hpp"
#include "core/train/training_log.hpp"
#include "core/train/training_model.hpp"
#include "core/train/training_survey.hpp"

namespace quench {

class LegTrainer {
 public:
  // All arguments outlive the trainer; `validation` may be nullptr.
  LegTrainer(Catalog& catalog, const Training& training, const TrainingLeg& leg,
             TrainedStates& states, const TrainingBatches& batches,
             const TrainingBatches* validation, double state_seconds);
  void run();
  uint64_t parameters() const { return model_.size(); }

 private:
  using Clock = std::chrono::steady_clock;
  // A state that this leg stands on or has written.
  struct State {
    int64_t step = 0;
    std::string key;
    bool keeps_weights = true;
    bool keeps_optimizer = true;
  };

  static TrainingModel open(Catalog& catalog, const Training& training, const TrainingLeg& leg,
                            const TrainedStates& states, const StateKeys& keys);
  void take_over();
  TrainingRow make_step(int64_t step);
  double train_on(int64_t step);
  double batch_loss(int64_t step);
  double update(int64_t step, double lr);
  std::string where() const;
  std::optional<double> validation_loss(int64_t step);
  void write(int64_t step);
  void write_averages(int64_t step);
  void write_state(int64_t step, bool is_checkpoint);
  void say(const TrainingRow& row) const;
  [[noreturn]] void stop(int64_t step);
  CheckpointFiles files(const State& state) const;

  const Training& training_;
  const TrainingRecipe& recipe_;
  const TrainingBranch& branch_;
  const TrainingLeg& leg_;
  TrainedStates& states_;
  const TrainingBatches& batches_;
  const TrainingBatches* validation_;
  double state_seconds_;
  StateKeys keys_;
  TrainingModel model_;
  LiveAverages averages_;
  TrainingLog log_;
  std::optional<double> product_rate_;  // floating-point operations a second
  double flops_per_step_ = 0;
  State last_;
  Clock::time_point last_written_;
};

}  // namespace quench
