// Options of a run besides its experiments.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/hub/environment.hpp"
#include "core/store/claims.hpp"
#include "core/store/record.hpp"
#include "run/grid/grid.hpp"
#include "run/grid/identity.hpp"
#include "run/row_folders.hpp"
#include "run/weights_supply.hpp"

namespace quench {

// Where records come from and go to, so that no cell is computed twice. Everything must outlive the
// run.
struct RunMemory {
  Identities& identities;
  Finished& finished;
  Store& store;
  std::string folder;  // of this run, for records that other runs take from the store
  // By content key: how the process died when an earlier attempt worked on that cell. Such a cell
  // fails with this message instead of being computed, unless failed cells are tried again.
  std::function<std::map<std::string, std::string>()> deaths = {};
};

struct RunnerOptions {
  HubEnvironment hub;
  std::filesystem::path home;  // QUENCH_HOME, where tokenized text is kept; empty: nowhere
  // Without it nothing is remembered and records have no keys (`quench eval`).
  std::optional<RunMemory> memory;
  // For averages with `keep: true` and quantized weights with `export`; written only with a memory,
  // which knows what a folder was made from.
  FolderPlaces places;
  std::string manifest;             // its text, for the model cards of kept averages
  WeightsSupply* supply = nullptr;  // brings weights that are not here; must outlive the run
  bool fresh = false;               // nothing counts as done
  bool retry_failed = false;        // failed cells are tried again
  // Throws at the first failure instead of continuing with the other cells.
  bool fail_fast = false;
  // Throws at a failure before the first value: then there is nothing to lose.
  bool fail_without_values = false;

  // Called once, after all checks and before any work.
  std::function<void()> on_start;
  // What divides the work among processes in one folder, asked for once after on_start; empty or
  // nullptr: this one does it all.
  std::function<Claims*()> claims;
  // Called with the new records of an evaluation, including failed ones: all its values, to be
  // stored together. An exception ends the run: if a record cannot be stored, there is no point in
  // computing the next.
  std::function<void(const std::vector<Record>&)> on_records;
  // Called with one line for each of these folders that could not be written; the run continues.
  std::function<void(const std::string&)> on_unwritten;
  // Called for people when a checkpoint or one of its quantizers begins, with the numbers of
  // finished and of all cells.
  std::function<void(const std::string& what, uint64_t done, uint64_t total)> on_step;
};

}  // namespace quench
