// What a run is given beside its experiments.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/hub/environment.hpp"
#include "core/store/record.hpp"
#include "run/grid/grid.hpp"
#include "run/grid/identity.hpp"
#include "run/row_folders.hpp"

namespace quench {

// Where records come from and go to, so that no cell is computed twice. Everything outlives the
// run.
struct RunMemory {
  Identities& identities;
  Finished& finished;
  Store& store;
  std::string folder;  // of this run, for records that other runs take from the store
  // By content key: how the process died when an earlier attempt was at work on that cell. Such a
  // cell fails with these words instead of being computed, unless failed cells are tried again.
  std::map<std::string, std::string> deaths = {};
};

struct RunnerOptions {
  HubEnvironment hub;
  std::filesystem::path home;  // QUENCH_HOME, where tokenized text is kept; empty: nowhere
  // Without it nothing is remembered and records have no keys (`quench eval`).
  std::optional<RunMemory> memory;
  // For averages whose entry says `keep: true` and quantized weights whose entry says `export`;
  // written where there is a memory, which knows what a folder was made from.
  FolderPlaces places;
  std::string manifest;       // its text, for the model cards of kept averages
  bool fresh = false;         // nothing counts as done
  bool retry_failed = false;  // failed cells are tried again
  // Throw at the first failure instead of going on with the other cells.
  bool fail_fast = false;

  // Called once, when everything that can be checked before work starts has been.
  std::function<void()> on_start;
  // Called for the new records of an evaluation, failed ones included: all its values, to be kept
  // together. What it throws ends the run: a record that cannot be kept is no reason to compute the
  // next.
  std::function<void(const std::vector<Record>&)> on_records;
  // Called with one line for each of these folders that could not be written; the run goes on.
  std::function<void(const std::string&)> on_unwritten;
  // Called when a checkpoint or a quantizer of it begins, for people, with the number of cells
  // behind and in all.
  std::function<void(const std::string& what, uint64_t done, uint64_t total)> on_step;
};

}  // namespace quench
