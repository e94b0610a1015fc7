// The part of `quench clean` for trained checkpoints, which take hours to make again: reports what
// exists, and removes only on request.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

namespace quench {

struct CleanTraining {
  bool dry_run = false;
  bool checkpoints = false;       // remove those that no run uses, with their optimizer states
  bool optimizer_states = false;  // remove all optimizer states
  int64_t now = 0;                // seconds since 1970
  int64_t age = 0;                // seconds: anything younger is at work and stays
  std::vector<std::filesystem::path> runs;  // their folders
};

// {checkpoints, optimizer_states: {count, bytes, used, removed, removed_bytes}, leftovers}; null if
// nothing was ever trained. Always removes leftovers of killed processes. Throws Error naming what
// cannot be removed.
nlohmann::json clean_training(const std::filesystem::path& home, const CleanTraining& request);

}  // namespace quench
