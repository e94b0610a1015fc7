// What a run that fetches would hold of the hub's weights, for its plan and before it begins.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/manifest_options.hpp"
#include "core/hub/fetch/fetch_plan.hpp"
#include "core/hub/fetch/revision_window.hpp"
#include "run/grid/grid.hpp"
#include "run/row_folders.hpp"

namespace quench {

// Where a run says what it has downloaded.
std::filesystem::path ledger_of_run(const std::filesystem::path& folder);

// Which revisions of hubs the cells of a run still read, set of weights by set of weights.
struct StorageNeeds {
  // Specs of revisions, "hf://org/name@step600"; the indices of `steps` are theirs.
  std::vector<std::string> revisions;
  // In the order of the run: job of the experiment and index of the weights, and what is read: the
  // checkpoint, or all members of an average, or the branch for a metric of the whole trajectory.
  // Empty where every cell is done and every folder written.
  std::vector<std::pair<size_t, size_t>> at;
  std::vector<std::set<size_t>> steps;
};

// `cells`: from survey(). `places`: of the folders that the run writes.
StorageNeeds storage_needs(const std::vector<Experiment>& experiments,
                           const std::vector<Cell>& cells, const FolderPlaces& places,
                           Identities& identities);

// A revision with its files, or a guess for one whose files were never listed.
struct SizedRevision {
  std::optional<PlannedRevision> listing;
  uint64_t guess = 0;  // bytes of another revision of the model; 0: not known either
};

struct StorageForecast {
  ManifestStorage asked;
  WindowForecast window;
  std::string least_for;  // the set of weights that takes most, in words
  size_t revisions = 0;   // that the run still reads
  size_t guessed = 0;     // of them, those with the size of another one
  size_t unknown = 0;     // those of which no size is known; they count as nothing
};

// `sizes`: of the revisions of `needs`.
StorageForecast forecast_storage(const LoadedRun& run, const ManifestStorage& asked,
                                 const StorageNeeds& needs, const std::vector<SizedRevision>& sizes,
                                 const std::filesystem::path& cache);
// Throws UsageError with the place of the limit, if one set of weights takes more.
void check_limit(const StorageForecast& forecast);

// As known without a hub: from what one said before.
std::vector<SizedRevision> remembered_sizes(const StorageNeeds& needs, const Fingerprints& memory);

nlohmann::json to_json(const StorageForecast& forecast);
void print(const StorageForecast& forecast, const std::string& manifest);

}  // namespace quench
