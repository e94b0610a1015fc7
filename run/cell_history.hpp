// What is known about a run's cells before they are computed: their content keys, the existing
// records, the files that their weights came from.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/experiment.hpp"
#include "core/store/claims.hpp"
#include "core/store/record.hpp"
#include "run/grid/grid.hpp"
#include "run/row_folders.hpp"
#include "run/runner_options.hpp"

namespace quench {

// The history of a run that remembers nothing: no cell has a key, all are pending.
class CellHistory {
 public:
  virtual ~CellHistory() = default;
  // False if the cell is known to be finished; reads no weights to find out.
  virtual bool may_need_work(const Experiment&, const Cell&) { return true; }
  // Whether the run's folder is known to have the cell's value or its failure.
  virtual bool is_recorded(const Experiment&, const Cell&) { return false; }
  // Takes up what other processes have written into the run's folder. Waits until the record files
  // of `earlier` can be seen, which a network file system may show late.
  virtual void renew(const std::vector<ClaimOwner>&) {}
  // Determines key and state of a cell and reads everything that its value depends on. Returns the
  // parts of the key, or null. Throws Error.
  virtual nlohmann::json identify(const Experiment&, Cell&) { return nullptr; }
  // Throws Error for a cell at which the process died before, so that a run that is started again
  // continues with the others.
  virtual void check_death(const Cell&) const {}
  // Looks again: another process may have measured the cell since.
  virtual void look_again(const Experiment&, Cell&) const {}
  // The records of a cell that needs no computation, unchanged; empty if the cell is pending.
  virtual std::vector<Record> records_of(const Experiment&, const Cell&) const { return {}; }
  // Shares the records of one evaluation with other runs.
  virtual void publish(const std::vector<Record>&) {}
  // Why one of these files cannot be read at all, or "".
  virtual std::string absence(const MemberCells&) { return ""; }
  // Forgets what was remembered of files that have changed since.
  virtual void forget_if_changed(const CheckpointCell&) {}
  // Throws Error(DATA_LOSS) if the files are no longer those that the keys describe.
  virtual void check_unchanged(const MemberCells&) {}
  // The tokenizer that the keys of these weights have, if they have one.
  virtual std::optional<TokenizerIdentity> tokenizer(const Experiment&, const CheckpointCell&) {
    return std::nullopt;
  }
  // Throws Error(UNAVAILABLE) if the metric's instance has read other files than the keys describe.
  virtual void check_read(const MetricCell&, const WantedRecords&) {}
  // Reads the files that are opened next in the background. They must stay where they are.
  virtual void read_ahead(const MemberCells&) {}
  // A folder that must be written and does not exist; throws like owed_folder.
  virtual std::optional<OwedFolder> owed(const Experiment&, const RowFolder&) { return {}; }
};

// The history for the options' memory, if there is one. `options` must outlive it.
std::unique_ptr<CellHistory> cell_history(const RunnerOptions& options);

}  // namespace quench
