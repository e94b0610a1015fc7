// What is known about a run's cells before they are computed: their content keys, the existing
// records, the files that their weights came from.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/store/claims.hpp"
#include "core/store/record.hpp"
#include "run/grid/grid.hpp"
#include "run/grid/identity.hpp"
#include "run/runner.hpp"

namespace quench {

// A network file system's listings and attributes may be older than its files: a file that can be
// opened by its name exists. Waits until those of the files that exist in `folder` are listed
// there, at most a minute.
void wait_until_listed(const std::filesystem::path& folder, const std::vector<std::string>& names);

// One cell of the current set of weights, with its results so far.
struct MeasuredCell {
  Cell cell;
  nlohmann::json parts = nullptr;             // parts of its key; null if nothing is remembered
  std::optional<Error> fault = std::nullopt;  // why it cannot be measured
  std::vector<Record> records = {};           // empty: still to compute
  bool unchecked = false;                     // a plugin opened files that nothing was held to

  bool to_do() const { return cell.state == CellState::kToDo; }
};

// The content keys of the cells that must be computed.
std::vector<std::string> keys_to_do(std::span<const MeasuredCell> cells);
bool any_to_do(std::span<const MeasuredCell> cells);
// Whether all of these cells have failed or will fail.
bool all_failed(std::span<const MeasuredCell> cells);
// Splits the cells into one span per variant; cells of a variant must be adjacent.
std::vector<std::span<MeasuredCell>> by_variant(std::span<MeasuredCell> cells);

inline constexpr size_t kMaxRecordText = 16384;  // bytes of a message or a path in a record

// Without knowledge in the options nothing is known: no cell has a key, and all are pending.
class CellHistory {
 public:
  // Both must outlive it.
  CellHistory(const RunnerOptions& options, RunStatus& status);
  ~CellHistory() { wait(); }
  CellHistory(const CellHistory&) = delete;
  CellHistory& operator=(const CellHistory&) = delete;

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
  // Reads the files that are opened next in the background; `files` must stay where they are.
  // Hashing needs every byte of the weights anyway; done ahead, it leaves them in the system's file
  // cache, so that opening the checkpoint need not wait for the disk. If the hash is remembered,
  // asks the system to read the files. Ignores errors: they are reported when the checkpoint is
  // opened.
  void read_ahead(const MemberCells& files);
  // The tokenizer that the keys of these weights have, if they have one.
  std::optional<TokenizerIdentity> tokenizer(const Experiment& experiment,
                                             const CheckpointCell& cell) const;
  // Throws Error(UNAVAILABLE) if the metric's instance has read other files than the keys describe.
  void check_read(const MetricCell& metric, const WantedRecords& read) const;
  // A folder that must be written and does not exist; throws like pending_export.
  std::optional<PendingExport> pending(const Experiment& experiment, const RowFolder& row) const;

 private:
  // For what is read in the background.
  void wait();

  RunKnowledge* known_;  // or nullptr
  const RunnerOptions& options_;
  RunStatus& status_;
  std::thread ahead_;
  std::map<std::string, std::string> deaths_;
  std::set<const PluginDescription*> told_;  // that they open files unseen
  std::string seen_;                         // look_of the folder when it was last read
};

}  // namespace quench
