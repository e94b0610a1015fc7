#include "run/cell_history.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "core/store/attempt_name.hpp"
#include "core/store/run_folder.hpp"
#include "run/grid/evaluation_parts.hpp"
#include "run/read_ahead.hpp"
#include "run/record_keeper.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds kLatestListing{60};  // of a network file system's folder

// Names and sizes of the record files: they change when something is written.
std::string look_of(const fs::path& folder) {
  std::string out;
  for (const AttemptName& name : find_attempts(folder, "records", ".jsonl")) {
    std::error_code gone;
    out += fmt::format("{} {}\n", name.path.filename().string(), fs::file_size(name.path, gone));
  }
  return out;
}

// A file that can be opened by its name exists; its folder's listing may be older.
void wait_until_listed(const fs::path& folder, const std::vector<ClaimOwner>& earlier) {
  const auto start = std::chrono::steady_clock::now();
  for (const ClaimOwner& owner : earlier) {
    const fs::path file = folder / fmt::format("records-{}-{}.jsonl", owner.job, owner.attempt);
    const auto listed = [&] {
      const std::vector<AttemptName> names = find_attempts(folder, "records", ".jsonl");
      return std::any_of(names.begin(), names.end(),
                         [&](const AttemptName& name) { return name.path == file; });
    };
    while (std::ifstream(file).good() && !listed() &&
           std::chrono::steady_clock::now() - start < kLatestListing) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }
}

// Computes keys from what values depend on; finds records in the run's folder and the store.
class RememberedCells final : public CellHistory {
 public:
  RememberedCells(const RunMemory& memory, const RunnerOptions& options)
      : memory_(memory), options_(options), ahead_(memory.identities, options.hub) {
    if (memory.deaths) {
      deaths_ = memory.deaths();
    }
  }

  bool may_need_work(const Experiment& experiment, const Cell& cell) override {
    std::string missing;
    const auto parts =
        evaluation_parts(memory_.identities, parts_of(experiment, cell), false, missing);
    return !parts || options_.fresh ||
           state(content_key(*parts), experiment, cell) == CellState::kToDo;
  }

  bool is_recorded(const Experiment& experiment, const Cell& cell) override {
    std::string missing;
    const auto parts =
        evaluation_parts(memory_.identities, parts_of(experiment, cell), false, missing);
    if (!parts || options_.fresh) {
      return false;
    }
    const CellState now = state(content_key(*parts), experiment, cell);
    return now == CellState::kDone || now == CellState::kFailed;
  }

  void renew(const std::vector<ClaimOwner>& earlier) override {
    wait_until_listed(memory_.folder, earlier);
    // Sizes may be old where listings are, so they decide only while nothing depends on it.
    if (std::string now = look_of(memory_.folder); now != seen_ || !earlier.empty()) {
      seen_ = std::move(now);
      memory_.finished.renew(read_run(memory_.folder));
      if (memory_.deaths) {
        deaths_ = memory_.deaths();
      }
    }
  }

  nlohmann::json identify(const Experiment& experiment, Cell& cell) override {
    std::string missing;
    nlohmann::json parts =
        *evaluation_parts(memory_.identities, parts_of(experiment, cell), true, missing);
    cell.key = content_key(parts);
    if (!options_.fresh) {
      cell.state = state(cell.key, experiment, cell);
    }
    return parts;
  }

  void check_death(const Cell& cell) const override {
    const auto death = deaths_.find(cell.key);
    if (cell.state == CellState::kToDo && death != deaths_.end() && !options_.fresh &&
        !options_.retry_failed) {
      fail(QUENCH_INTERNAL, "{}", death->second);
    }
  }

  void look_again(const Experiment& experiment, Cell& cell) const override {
    if (cell.state == CellState::kToDo && !cell.key.empty() && !options_.fresh &&
        memory_.finished.failed(cell.key, cell_name(experiment, cell)) == nullptr &&
        !memory_.finished.find(cell.key).empty()) {
      cell.state = CellState::kReused;
    }
  }

  std::vector<Record> records_of(const Experiment& experiment, const Cell& cell) const override {
    switch (cell.state) {
      case CellState::kToDo:
      case CellState::kBlocked:
        return {};
      case CellState::kDone:
        return *memory_.finished.in_run(cell.key, cell_name(experiment, cell));
      case CellState::kFailed:
        return {*memory_.finished.failed(cell.key, cell_name(experiment, cell))};
      case CellState::kReused:
        break;
    }
    return memory_.finished.find(cell.key);
  }

  void publish(const std::vector<Record>& records) override {
    const Record& first = records.front();
    if (!first.error.empty() || first.key.empty() || !first.cached.empty()) {
      return;
    }
    std::vector<Record> shared = records;
    for (Record& record : shared) {
      record.cached = printable(memory_.folder, kMaxRecordText);
    }
    memory_.store.publish(shared);
  }

  std::string absence(const MemberCells& files) override {
    for (const CheckpointCell* cell : files) {
      if (std::string reason = memory_.identities.absence_of_known(*cell); !reason.empty()) {
        return reason;
      }
    }
    return "";
  }

  void forget_if_changed(const CheckpointCell& cell) override {
    if (memory_.identities.absence(cell).empty()) {
      memory_.identities.forget_if_changed(cell);
    }
  }

  void check_unchanged(const MemberCells& files) override {
    for (const CheckpointCell* cell : files) {
      if (!memory_.identities.unchanged(*cell)) {
        fail(QUENCH_DATA_LOSS, "{}: changed while it was read", cell->location);
      }
    }
  }

  std::optional<TokenizerIdentity> tokenizer(const Experiment& experiment,
                                             const CheckpointCell& cell) override {
    return memory_.identities.known_tokenizer(experiment, cell);
  }

  void check_read(const MetricCell& metric, const WantedRecords& read) override {
    memory_.identities.check_read(metric, read);
  }

  void read_ahead(const MemberCells& files) override { ahead_.begin(files); }

  std::optional<OwedFolder> owed(const Experiment& experiment, const RowFolder& row) override {
    return owed_folder(experiment, row, memory_.identities);
  }

 private:
  CellState state(const std::string& key, const Experiment& experiment, const Cell& cell) const {
    return state_of(memory_.finished, key, cell_name(experiment, cell), options_.retry_failed);
  }

  const RunMemory& memory_;
  const RunnerOptions& options_;
  ReadAhead ahead_;
  std::map<std::string, std::string> deaths_;
  std::string seen_;  // look_of the folder when it was last read
};

}  // namespace

std::unique_ptr<CellHistory> cell_history(const RunnerOptions& options) {
  if (options.memory) {
    return std::make_unique<RememberedCells>(*options.memory, options);
  }
  return std::make_unique<CellHistory>();
}

}  // namespace quench
