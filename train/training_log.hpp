// What a training says of each step, kept beside its checkpoints: every checkpoint has the rows
// since the one before it, so that the rows of a part that branches share are there once.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/trained_states.hpp"

namespace quench {

struct TrainingRow {
  int64_t step = 0;
  uint64_t tokens = 0;  // seen so far
  double lr = 0;
  double loss = 0;           // nats per token, of the step's batch, before its update
  double gradient_norm = 0;  // before clipping
  double tokens_per_second = 0;
  std::optional<double> mfu;              // of the rate of products measured at the start
  std::optional<double> validation_loss;  // nats per token
};

class TrainingLog {
 public:
  // Goes on from the state under `key`, empty for a beginning. `starts_anew`: that state stays, so
  // its rows need not be carried on.
  void continue_from(const TrainedStates& states, const std::string& key, bool starts_anew);
  void add(const TrainingRow& row);
  // For training.json of a state.
  nlohmann::json note() const;
  // The state under `key` stays: rows from here on belong to the next one.
  void cut(const std::string& key);

 private:
  std::string previous_;  // key of the last state that stays, or empty
  nlohmann::json rows_ = nlohmann::json::array();
};

// All rows up to the state under `key`, one JSON object a line, as far as the states are there.
std::string training_log(const TrainedStates& states, const std::string& key);

}  // namespace quench
