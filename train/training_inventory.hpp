// What trainings left under QUENCH_HOME/training, and what runs still use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace quench {

enum class TrainedPart {
  kWeights,
  kOptimizer,  // the optimizer's state that belongs to the weights of this key
  kSums        // of the unfinished average of this key
};

struct TrainedEntry {
  std::string key;
  TrainedPart part = TrainedPart::kWeights;
  std::filesystem::path path;
  uint64_t bytes = 0;
  bool at_work = false;  // recent, or a recent state came from it
  bool used = false;     // at work, or a run links to the weights or to a state that came from them
};

struct TrainingInventory {
  std::vector<TrainedEntry> entries;  // by key, weights first
  std::vector<std::filesystem::path>
      leftover;  // temporaries that are abandoned (core/base/io/lease.hpp)
};

// `runs` are folders of runs, whose checkpoints/ have links. Anything written in the last `age`
// seconds, which count as at least an hour, is at work: a training has no links before its end but
// keeps writing states. A home without trainings has an empty
// inventory. Throws Error(FAILED_PRECONDITION) if a folder cannot be listed.
TrainingInventory training_inventory(const std::filesystem::path& home,
                                     const std::vector<std::filesystem::path>& runs, int64_t now,
                                     int64_t age);

}  // namespace quench
