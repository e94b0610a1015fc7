// The learning rate at a checkpoint. Checkpoints do not contain it; the manifest gives it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/manifest/manifest_checkpoints.hpp"

namespace quench {

// The rate at a step, and its phase of the schedule: "warmup", "constant" or "decay". A step
// between two phases belongs to the earlier one. Nothing beyond the last step.
std::optional<double> scheduled_rate(const LearningRateSchedule& schedule, int64_t step);
std::string scheduled_phase(const LearningRateSchedule& schedule, int64_t step);

// The rate from step 0 to `last`, or to the end of the schedule: points (step, rate) that lines
// join, of a curve a few hundred.
std::vector<std::pair<int64_t, double>> schedule_line(const LearningRateSchedule& schedule,
                                                      int64_t last);

class LearningRate {
 public:
  // Reads the points file, if there is one. Throws Error with file and line.
  LearningRate(const ManifestLearningRate& entry, const std::filesystem::path& relative_to);
  // Nothing if the rate is unknown: outside the points, beyond the schedule, without a step.
  std::optional<double> at(std::optional<int64_t> step, std::optional<int64_t> tokens) const;

 private:
  ManifestLearningRate entry_;
  bool by_tokens_ = false;
  std::vector<std::pair<double, double>> points_;  // (step or tokens, rate), ascending
};

// A number, {points: FILE}, or {schedule: ..., peak: ..., ...}. Adds errors that begin with `where`
// to `problems`.
ManifestLearningRate read_learning_rate(const YamlNode& node, const std::string& where,
                                        Problems& problems);

// The schedule of a training of `steps` steps: the same form without `steps`.
LearningRateSchedule read_training_schedule(const YamlNode& node, const std::string& where,
                                            int64_t steps, Problems& problems);

nlohmann::json learning_rate_schema();
nlohmann::json training_rate_schema();

}  // namespace quench
