// What trainings left under QUENCH_HOME/training, and which of it runs still use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace quench {

// The weights of a key, or what an optimizer needs to go on from them.
struct TrainedEntry {
  std::string key;
  bool optimizer = false;
  uint64_t bytes = 0;
  bool at_work = false;  // young, or a young state came from it
  bool used = false;     // at work; or a run's folder links to the weights, or to what came from it
};

struct TrainingInventory {
  std::vector<TrainedEntry> entries;            // by key, weights before the optimizer's
  std::vector<std::filesystem::path> leftover;  // folders that killed processes did not finish
};

// `runs` are folders of runs, whose checkpoints/ has links. What was written in the last `age`
// seconds, which count as at least an hour, is at work: a training has no links before its end, but
// writes states all the time. Leftovers are older than a day. A home without trainings has an empty
// inventory. Throws Error(FAILED_PRECONDITION) where a folder cannot be listed.
TrainingInventory training_inventory(const std::filesystem::path& home,
                                     const std::vector<std::filesystem::path>& runs, int64_t now,
                                     int64_t age);

}  // namespace quench
