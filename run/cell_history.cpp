#include "run/cell_history.hpp"

#include <string>
#include <utility>

#include "core/error.hpp"
#include "run/grid/evaluation_parts.hpp"
#include "run/read_ahead.hpp"
#include "run/record_keeper.hpp"

namespace quench {

namespace {

// Computes keys from what values depend on; finds records in the run's folder and the store.
class RememberedCells final : public CellHistory {
 public:
  RememberedCells(const RunMemory& memory, const RunnerOptions& options)
      : memory_(memory), options_(options), ahead_(memory.identities, options.hub) {}

  bool may_need_work(const Experiment& experiment, const Cell& cell) override {
    std::string missing;
    const auto parts =
        evaluation_parts(memory_.identities, parts_of(experiment, cell), false, missing);
    return !parts || options_.fresh ||
           state(content_key(*parts), experiment, cell) == CellState::kToDo;
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
    const auto death = memory_.deaths.find(cell.key);
    if (cell.state == CellState::kToDo && death != memory_.deaths.end() && !options_.fresh &&
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

  void read_ahead(MemberCells files) override { ahead_.begin(std::move(files)); }

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
};

}  // namespace

std::unique_ptr<CellHistory> cell_history(const RunnerOptions& options) {
  if (options.memory) {
    return std::make_unique<RememberedCells>(*options.memory, options);
  }
  return std::make_unique<CellHistory>();
}

}  // namespace quench
