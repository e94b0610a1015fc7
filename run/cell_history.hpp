// What is known about a run's cells before they are computed: their content keys, the existing
// records, the files that their weights came from.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/inputs/experiment/experiment.hpp"
#include "core/store/claims.hpp"
#include "core/store/record.hpp"
#include "run/measured_cell.hpp"
#include "run/read_ahead.hpp"
#include "run/runner.hpp"

namespace quench {

inline constexpr size_t kMaxRecordText = 16384;  // bytes of a message or a path in a record

// Without knowledge in the options nothing is known: no cell has a key, and all are pending.
class CellHistory {
 public:
  // Both must outlive it.
  CellHistory(const RunnerOptions& options, RunStatus& status);

  // The state of the cell as far as it is known without reading weights, or nothing.
  std::optional<CellState> known_state(const Experiment& experiment, const Cell& cell) const;
  // False if the cell is known to be finished.
  bool may_need_work(const Experiment& experiment, const Cell& cell) const;
  // Takes up what other processes have written into the run's folder. Waits until the record files
  // of `earlier` can be seen, which a network file system may show late.
  void renew(const std::vector<ClaimOwner>& earlier);
  // Determines key and state of the cell and reads everything that its value depends on. Throws
  // Error, also for a cell at which the process died before, so that a run that is started again
  // continues with the others.
  void identify(const Experiment& experiment, MeasuredCell& cell) const;
  // A measured cell with all that its plugins have read besides in its parts and its key. Throws
  // Error(UNAVAILABLE) if that has changed since it was read.
  MeasuredCell with_reads(const Experiment& experiment, const MeasuredCell& cell);
  // The records of a cell that needs no computation, unchanged; empty if the cell is pending.
  // Another process may have measured it since identify().
  std::vector<Record> records_of(const Experiment& experiment, Cell& cell) const;
  // Shares the records of one evaluation with other runs, unless its inputs are unchecked.
  void publish(const std::vector<Record>& records) const;

  // Why one of these files cannot be read at all, or "".
  std::string absence(const MemberCells& files) const;
  // Forgets what was remembered of files that have changed since.
  void forget_if_changed(const CheckpointCell& cell) const;
  // The files of a checkpoint, held to what the keys describe (Identities::hold).
  CheckpointFolder open(Catalog& catalog, const CheckpointCell& cell) const;
  // Reads the files that are opened next in the background. They must stay where they are.
  void read_ahead(const MemberCells& files);
  // The tokenizer that the keys of these weights have, if they have one.
  std::optional<TokenizerIdentity> tokenizer(const Experiment& experiment,
                                             const CheckpointCell& cell) const;
  // Throws Error(UNAVAILABLE) if the metric's instance has read other files than the keys describe.
  void check_read(const MetricCell& metric, const WantedRecords& read) const;
  // A folder that must be written and does not exist; throws like pending_export.
  std::optional<PendingExport> pending(const Experiment& experiment, const RowFolder& row) const;

 private:
  RunKnowledge* known_;  // or nullptr
  const RunnerOptions& options_;
  RunStatus& status_;
  std::optional<ReadAhead> ahead_;
  std::map<std::string, std::string> deaths_;
  std::set<const PluginDescription*> told_;  // that they open files unseen
  std::string seen_;                         // look_of the folder when it was last read
};

}  // namespace quench
