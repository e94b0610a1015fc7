#include "cli/clean_training.hpp"

#include "core/error.hpp"
#include "core/store/sealed_folder.hpp"
#include "train/training_inventory.hpp"

namespace quench {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

struct Tally {
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint64_t used = 0;
  uint64_t removed = 0;
  uint64_t removed_bytes = 0;

  json as_json() const {
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

std::string tell(const json& tally, const char* what, const char* of_which) {
  return fmt::format("{} {}, {:.1f} MB, {} {}", tally.at("count").get<uint64_t>(), what,
                     static_cast<double>(tally.at("bytes").get<uint64_t>()) / 1e6,
                     tally.at("used").get<uint64_t>(), of_which);
}

}  // namespace

json clean_training(const fs::path& home, const CleanTraining& request) {
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

std::string describe_clean_training(const json& outcome, bool dry_run) {
  const json& checkpoints = outcome.at("checkpoints");
  const json& optimizers = outcome.at("optimizer_states");
  std::string out = "training: " + tell(checkpoints, "checkpoints", "used by runs") + "; " +
                    tell(optimizers, "optimizer states", "of these");
  const auto number = [](const json& tally, const char* key) {
    return tally.at(key).get<uint64_t>();
  };
  const uint64_t removed = number(checkpoints, "removed") + number(optimizers, "removed");
  const uint64_t leftovers = outcome.at("leftovers").get<uint64_t>();
  if (removed + leftovers > 0) {
    out += fmt::format("; {} {} and {}, {:.1f} MB", dry_run ? "would remove" : "removed",
                       number(checkpoints, "removed"), number(optimizers, "removed"),
                       static_cast<double>(number(checkpoints, "removed_bytes") +
                                           number(optimizers, "removed_bytes")) /
                           1e6);
    out += leftovers == 0 ? "" : fmt::format(", and {} leftovers", leftovers);
  }
  return out;
}

}  // namespace quench
