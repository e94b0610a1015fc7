#include "cli/storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/bytes.hpp"
#include "cli/standard_streams.hpp"
#include "core/hub/cached_repository.hpp"
#include "core/hub/fetch/download_ledger.hpp"
#include "core/hub/fetch/fetch_plan.hpp"
#include "core/hub/snapshot.hpp"

namespace quench {

namespace fs = std::filesystem;

fs::path ledger_of_run(const fs::path& folder) {
  return folder / "downloads.jsonl";
}

namespace {

// Files as a forecast sees them: those that the cache has from elsewhere take nothing.
class Simulation {
 public:
  Simulation(const fs::path& ledger, const fs::path& cache) : ledger_(ledger), cache_(cache) {}

  std::vector<SimulatedFile> files_of(const std::string& spec, const SizedRevision& revision) {
    if (!revision.listing) {
      return {{spec, revision.guess, true}};
    }
    const PlannedRevision& listing = *revision.listing;
    const CachedRepository cache(cache_, listing.spec);
    const DownloadLedger::Blobs own = ledger_.present(cache_, listing.spec);
    std::vector<SimulatedFile> out;
    for (const HubFile& file : listing.files) {
      const std::string name = repository_text(listing.spec) + " " + file.hash;
      const bool here = cache.has(file);
      const bool is_own = own.contains(file.hash);
      if (here && !is_own) {
        continue;
      }
      out.push_back({name, file.size, holds_weights(file.path)});
      if (here) {
        present.insert(name);
      }
    }
    return out;
  }

  std::set<std::string> present;

 private:
  DownloadLedger ledger_;
  fs::path cache_;
};

}  // namespace

StorageForecast forecast_storage(const LoadedRun& run, const ManifestStorage& asked,
                                 const StorageNeeds& needs, const std::vector<SizedRevision>& sizes,
                                 const fs::path& cache) {
  StorageForecast out;
  out.asked = asked;
  out.revisions = needs.revisions.size();
  Simulation simulation(ledger_of_run(run.folder), cache);
  std::vector<std::vector<SimulatedFile>> revisions;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool listed = sizes[i].listing.has_value();
    out.guessed += !listed && sizes[i].guess > 0 ? 1 : 0;
    out.unknown += !listed && sizes[i].guess == 0 ? 1 : 0;
    revisions.push_back(simulation.files_of(needs.revisions[i], sizes[i]));
  }
  out.window = forecast(needs.steps, asked.limit.value, asked.evict, revisions, simulation.present);
  if (!needs.at.empty()) {
    out.least_for = step_in_words(run.experiments, needs.at[out.window.least_step]);
  }
  return out;
}

void check_limit(const StorageForecast& forecast) {
  const ManifestStorage& asked = forecast.asked;
  if (asked.limit.value == 0 || forecast.window.least <= asked.limit.value) {
    return;
  }
  throw UsageError(
      QUENCH_INVALID_ARGUMENT,
      fmt::format("{}: storage: limit = {} bytes, wanted at least {}: {}", asked.limit.place.text(),
                  asked.limit.value, forecast.window.least,
                  asked.evict ? "for " + forecast.least_for
                              : "for all revisions; with `evict: done` weights go when no cell "
                                "needs them"));
}

std::vector<SizedRevision> remembered_sizes(const StorageNeeds& needs, const Fingerprints& memory) {
  std::vector<SizedRevision> out;
  std::map<std::string, uint64_t> largest;  // by repository
  for (const std::string& text : needs.revisions) {
    const HubSpec spec = parse_hub_spec(text);
    SizedRevision& revision = out.emplace_back();
    revision.listing = remembered_listing(spec, memory);
    if (revision.listing) {
      uint64_t& most = largest[repository_text(spec)];
      most = std::max(most, revision.listing->bytes);
    }
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].listing) {
      out[i].guess = largest[repository_text(parse_hub_spec(needs.revisions[i]))];
    }
  }
  return out;
}

nlohmann::json to_json(const StorageForecast& forecast) {
  const ManifestStorage& asked = forecast.asked;
  return {
      {"limit_bytes", asked.limit.value > 0 ? nlohmann::json(asked.limit.value) : nlohmann::json()},
      {"evict", asked.evict ? "done" : "never"},
      {"peak_bytes", forecast.window.peak},
      {"fetch_bytes", forecast.window.fetched},
      {"least_bytes", forecast.window.least},
      {"least_for", forecast.least_for},
      {"revisions", forecast.revisions},
      {"guessed", forecast.guessed},
      {"unknown", forecast.unknown}};
}

void print(const StorageForecast& forecast, const std::string& manifest) {
  if (forecast.revisions == 0) {
    fmt::print(results(), "storage: no revision is needed any more\n");
    return;
  }
  const WindowForecast& window = forecast.window;
  if (forecast.unknown < forecast.revisions) {
    fmt::print(
        results(), "storage: at most {} in the cache at a time{}, {} to fetch; at least {}{}\n",
        bytes_text(window.peak),
        forecast.asked.limit.value > 0 ? ", limit " + bytes_text(forecast.asked.limit.value) : "",
        bytes_text(window.fetched), bytes_text(window.least),
        forecast.asked.evict ? ", for " + forecast.least_for : "");
  }
  if (forecast.guessed + forecast.unknown > 0) {
    fmt::print(results(),
               "storage: {} of {} revisions were never listed{}; this asks the hub for their "
               "sizes: quench fetch {} --dry-run\n",
               forecast.guessed + forecast.unknown, forecast.revisions,
               forecast.unknown > 0 ? " and count as nothing" : " and count as the largest other",
               manifest);
  }
}

}  // namespace quench
