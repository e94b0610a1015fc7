// The log of a training, stored beside its checkpoints: every checkpoint has the rows since the one
// before it, so branches that share a part store its rows once. Beside a run's records lie its
// lines, each sealed.
#pragma once

#include <cstdint>
#include <filesystem>
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
  double loss = 0;           // nats per token, mean over the step's batch, before its update
  double gradient_norm = 0;  // before clipping
  double tokens_per_second = 0;
  std::optional<double> mfu;              // relative to the rate of products measured at the start
  std::optional<double> validation_loss;  // nats per token
};

class TrainingLog {
 public:
  // Continues from the state under `key`, empty for the beginning. `starts_anew`: that state is
  // kept, so its rows need not be copied.
  void continue_from(const TrainedStates& states, const std::string& key, bool starts_anew);
  void add(const TrainingRow& row);
  // The note (training.json) of a state.
  nlohmann::json note() const;
  // The state under `key` is kept: rows from here on belong to the next one.
  void cut(const std::string& key);

 private:
  std::string previous_;  // key of the last kept state, or empty
  nlohmann::json rows_ = nlohmann::json::array();
};

// All rows up to the state under `key`, one sealed line each, as far as the states exist.
std::string training_log(const TrainedStates& states, const std::string& key);

struct LogFindings {
  uint64_t checked = 0;                // rows
  std::vector<std::string> faults;     // one line each
  std::vector<std::string> unchecked;  // logs whose rows an earlier version wrote without a seal
};

// Checks the rows of all logs beside the records of a run. Changes nothing. Throws Error if a
// folder cannot be listed or a file cannot be read.
LogFindings verify_training_logs(const std::filesystem::path& run);

}  // namespace quench
