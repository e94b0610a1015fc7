// What is known of a run's cells before they are computed: their content keys, the records that are
// there, the files that their weights came from.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/experiment/experiment.hpp"
#include "core/store/record.hpp"
#include "run/grid/grid.hpp"
#include "run/row_folders.hpp"
#include "run/runner_options.hpp"

namespace quench {

using CheckpointFiles = std::vector<const CheckpointCell*>;

// What a run does where nothing is remembered: no cell has a key, all of them are to do.
class CellHistory {
 public:
  virtual ~CellHistory() = default;
  // False when the cell is known to be finished; reads no weights to find out.
  virtual bool may_need_work(const Experiment&, const Cell&) { return true; }
  // Finds out key and state of a cell; all that its value depends on is read for it. The parts of
  // the key, or null. Throws Error.
  virtual nlohmann::json identify(const Experiment&, Cell&) { return nullptr; }
  // Throws Error for a cell at which the process died before, so that a run that is started again
  // goes on.
  virtual void check_death(const Cell&) const {}
  // Another process may have measured the cell since.
  virtual void look_again(const Experiment&, Cell&) const {}
  // The records of a cell that needs no computation, as they were written; empty where it is to do.
  virtual std::vector<Record> records_of(const Experiment&, const Cell&) const { return {}; }
  // Shares the records of one evaluation with other runs.
  virtual void publish(const std::vector<Record>&) {}
  // What was remembered of files that have changed since is forgotten.
  virtual void forget_if_changed(const CheckpointCell&) {}
  // Throws Error(DATA_LOSS) where the files are no longer those that the keys speak of.
  virtual void check_unchanged(const CheckpointFiles&) {}
  // Reads files that are opened next, meanwhile. They must stay where they are.
  virtual void read_ahead(CheckpointFiles) {}
  // A folder that is to be written and is not there; throws as owed_folder does.
  virtual std::optional<OwedFolder> owed(const Experiment&, const RowFolder&) { return {}; }
};

// With the memory of the options, where they have one. `options` outlive it.
std::unique_ptr<CellHistory> cell_history(const RunnerOptions& options);

}  // namespace quench
