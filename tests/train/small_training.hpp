// train() of a small model: a run of 12 steps with a fork at step 6, checkpoints at steps 6 and 12
// and averages on the way, in a home of its own.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/train.hpp"

namespace quench::test {

struct SmallSettings {
  std::string optimizer = "adamw";
  nlohmann::json optimizer_parameters = nlohmann::json::object();
  uint64_t seed = 0;
  // "shipped": one of each scheme, windows that overlap; "template": one that hands out no sums;
  // "none".
  std::string averages = "shipped";
  bool forks = true;
  // Of the fork's steps; "": that of the run.
  std::string fork_optimizer;
  nlohmann::json fork_parameters = nlohmann::json::object();
  bool validates = false;
  double state_seconds = 600;
};

class SmallTraining {
 public:
  SmallTraining(std::filesystem::path home, const SmallSettings& settings);

  // Trains what is missing; asks for a stop when `stop_after` steps were made. Whether it came to
  // its end. Throws what train() throws, but for the stop.
  bool run(std::optional<int64_t> stop_after = std::nullopt);
  // Likewise, with a stop after a time.
  bool run_for(double seconds);

  // What the last run said, a line each.
  const std::vector<std::string>& said() const { return said_; }
  bool has_said(const std::string& part) const;
  // The bytes of all weights, by branch and step or average.
  std::map<std::string, std::string> outputs() const;
  // The logs of all branches, without what depends on time.
  nlohmann::json logs() const;

  const std::filesystem::path& home() const { return home_; }
  std::filesystem::path training() const { return home_ / "training"; }
  const Training& plan() const { return training_; }

  static constexpr int64_t kSteps = 16;  // of the run and its fork

 private:
  std::filesystem::path home_;
  Training training_;
  double state_seconds_;
  std::vector<std::string> said_;
};

}  // namespace quench::test
