// The losses of a training, from the logs that a run keeps beside its records.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace quench {

// RUN/training/BRANCH.jsonl, or RUN/training/job~N/BRANCH.jsonl for further points of a sweep.
struct TrainingCurve {
  std::string name;  // "BRANCH"
  uint64_t job = 0;  // point of the sweep
  std::vector<double> step;
  std::vector<double> tokens;
  std::vector<double> loss;  // nats per token, mean over the step's batch
  std::vector<double> rate;  // learning rate
};

// Those of a run's folder, by name. The rows that a fork shares with another branch are left to
// that one. Skips files that are no such log.
std::vector<TrainingCurve> read_training_logs(const std::filesystem::path& run);

}  // namespace quench
