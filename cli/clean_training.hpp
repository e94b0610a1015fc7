// What `quench clean` does with the checkpoints that trainings wrote, which take hours to make
// again: it tells what there is, and removes on request alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace quench {

struct CleanTraining {
  bool dry_run = false;
  bool checkpoints = false;       // remove those that no run uses, and what goes on from them
  bool optimizer_states = false;  // remove what goes on from any
  int64_t now = 0;                // seconds since 1970
  int64_t age = 0;                // seconds: what is younger is at work, and stays
  std::vector<std::filesystem::path> runs;  // their folders
};

// {checkpoints, optimizer_states: {count, bytes, used, removed, removed_bytes}, leftovers}; null
// where nothing was ever trained. Leftovers of killed processes always go. Throws Error naming what
// cannot be removed.
nlohmann::json clean_training(const std::filesystem::path& home, const CleanTraining& request);

// The same in words, one line.
std::string describe_clean_training(const nlohmann::json& outcome, bool dry_run);

}  // namespace quench
