// What a run that fetches would hold of the hub's weights, for its plan and before it begins.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/manifest_options.hpp"
#include "core/hub/fetch/fetch_plan.hpp"
#include "core/hub/fetch/revision_window.hpp"
#include "run/storage_needs.hpp"

namespace quench {

// Where a run says what it has downloaded.
std::filesystem::path ledger_of_run(const std::filesystem::path& folder);

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
