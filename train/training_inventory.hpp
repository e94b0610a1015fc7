// What trainings left under QUENCH_HOME/training, and which of it runs still use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace quench {

enum class TrainedPart {
  kWeights,
  kOptimizer,  // what it needs to go on from the weights of this key
  kSums        // of an average of this key that is open
};

struct TrainedEntry {
  std::string key;
  TrainedPart part = TrainedPart::kWeights;
  std::filesystem::path path;
  uint64_t bytes = 0;
  bool at_work = false;  // young, or a young state came from it
  bool used = false;     // at work; or a run's folder links to the weights, or to what came from it
};

struct TrainingInventory {
  std::vector<TrainedEntry> entries;            // by key, weights first
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
