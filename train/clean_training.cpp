#include "train/clean_training.hpp"

#include "core/error.hpp"
#include "core/store/sealed_folder.hpp"
#include "train/training_inventory.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

struct Tally {
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint64_t used = 0;
  uint64_t removed = 0;
  uint64_t removed_bytes = 0;

  nlohmann::json as_json() const {
    return {{"count", count},
            {"bytes", bytes},
            {"used", used},
            {"removed", removed},
            {"removed_bytes", removed_bytes}};
  }
};

void remove_entry(const TrainedEntry& entry) {
  remove_folder(entry.path);
  std::error_code error;
  if (fs::exists(entry.path, error)) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be removed", entry.path.string());
  }
}

}  // namespace

nlohmann::json clean_training(const fs::path& home, const CleanTraining& request) {
  const TrainingInventory inventory =
      training_inventory(home, request.runs, request.now, request.age);
  if (inventory.entries.empty() && inventory.leftover.empty()) {
    return nullptr;
  }
  Tally checkpoints;
  Tally optimizers;
  for (const TrainedEntry& entry : inventory.entries) {
    const bool weights = entry.part == TrainedPart::kWeights;
    Tally& tally = weights ? checkpoints : optimizers;
    ++tally.count;
    tally.bytes += entry.bytes;
    tally.used += entry.used ? 1 : 0;
    const bool unused = request.checkpoints && !entry.used;
    const bool state = request.optimizer_states && !weights && !entry.at_work;
    if (unused || state) {
      if (!request.dry_run) {
        remove_entry(entry);
      }
      ++tally.removed;
      tally.removed_bytes += entry.bytes;
    }
  }
  for (const fs::path& folder : inventory.leftover) {
    std::error_code ignored;  // removed meanwhile by another process
    if (!request.dry_run) {
      fs::remove_all(folder, ignored);
    }
  }
  return {{"checkpoints", checkpoints.as_json()},
          {"optimizer_states", optimizers.as_json()},
          {"leftovers", inventory.leftover.size()}};
}

}  // namespace quench
