// `quench run` of a small training, as a child process in a folder and a home of its own.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/faults.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

// Values of `train` and around it that a test changes, as YAML.
struct SceneSettings {
  std::string optimizer = "adamw";
  std::string rate = "{schedule: constant, peak: 0.01, warmup: 2}";
  std::string rest = "steps: 12, every: 4";
  std::string averaging = "[]";
  std::string sweep;
};

// One block of width 16 on bytes of a text made here, 4 sequences of 16 a step.
class TrainingScene {
 public:
  explicit TrainingScene(const SceneSettings& settings);

  Ended run(std::vector<std::string> more = {}) const;
  FaultedRun run_under(const FaultPlan& plan) const;
  std::vector<std::string> command(std::vector<std::string> more = {}) const;
  std::map<std::string, std::string> environment() const;
  // Runs until it succeeds at once; the records.
  nlohmann::json records(std::vector<std::string> more = {}) const;
  // What the program says with these words and --json.
  nlohmann::json answer(const std::vector<std::string>& words) const;
  // `plan --json`, and its part about training.
  nlohmann::json whole_plan() const;
  nlohmann::json plan() const;

  // The bytes of model.safetensors of a checkpoint ("trunk/step4", "step4").
  std::string weights(const std::string& checkpoint) const;
  // The lines of a branch's log.
  std::vector<nlohmann::json> log(const std::string& name) const;
  // Forgets what was trained and measured.
  void reset() const;
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryDir folder_;
};

}  // namespace quench::test
