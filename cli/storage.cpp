#include "cli/storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/amounts.hpp"
#include "cli/standard_streams.hpp"
#include "core/error.hpp"
#include "core/hub/cached_repository.hpp"
#include "core/hub/fetch/download_ledger.hpp"
#include "core/hub/fetch/fetch_plan.hpp"
#include "core/hub/hub_spec.hpp"
#include "core/hub/snapshot.hpp"
#include "quench/abi/kind/metric.h"

namespace quench {

namespace fs = std::filesystem;

fs::path ledger_of_run(const fs::path& folder) {
  return folder / "downloads.jsonl";
}

namespace {

// Files as a forecast sees them: those that the cache has from elsewhere take nothing. Adds to
// `present` those that this run has brought.
std::vector<SimulatedFile> simulated_files(const std::string& spec, const SizedRevision& revision,
                                           const DownloadLedger& ledger, const fs::path& cache,
                                           std::set<std::string>& present) {
  if (!revision.listing) {
    return {{spec, revision.guess, true}};
  }
  const PlannedRevision& listing = *revision.listing;
  const CachedRepository cached(cache, listing.spec);
  const DownloadLedger::Blobs own = ledger.present(cache, listing.spec);
  std::vector<SimulatedFile> out;
  for (const HubFile& file : listing.files) {
    const bool here = cached.has(file);
    if (here && !own.contains(file.hash)) {
      continue;
    }
    const std::string name = repository_text(listing.spec) + " " + file.hash;
    out.push_back({name, file.size, holds_weights(file.path)});
    if (here) {
      present.insert(name);
    }
  }
  return out;
}

// "step600", or "lawa window=3 at step600, an average of 3 checkpoints that are read together".
std::string step_in_words(const std::vector<Experiment>& experiments,
                          const std::pair<size_t, size_t>& at) {
  const auto found =
      std::find_if(experiments.begin(), experiments.end(),
                   [&](const Experiment& experiment) { return experiment.job == at.first; });
  const WeightsCell& weights = found->weights[at.second];
  const std::string name = weights_name(*found, weights);
  return weights.members.empty()
             ? name
             : fmt::format("{}, an average of {} checkpoints that are read together", name,
                           weights.members.size());
}

}  // namespace

StorageForecast forecast_storage(const LoadedRun& run, const ManifestStorage& asked,
                                 const StorageNeeds& needs, const std::vector<SizedRevision>& sizes,
                                 const fs::path& cache) {
  StorageForecast out;
  out.asked = asked;
  out.revisions = needs.revisions.size();
  const DownloadLedger ledger(ledger_of_run(run.folder));
  std::set<std::string> present;
  std::vector<std::vector<SimulatedFile>> revisions;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool listed = sizes[i].listing.has_value();
    out.guessed += !listed && sizes[i].guess > 0 ? 1 : 0;
    out.unknown += !listed && sizes[i].guess == 0 ? 1 : 0;
    revisions.push_back(simulated_files(needs.revisions[i], sizes[i], ledger, cache, present));
  }
  out.window = forecast(needs.steps, asked.limit.value, asked.evict, revisions, present);
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

StorageNeeds storage_needs(const std::vector<Experiment>& experiments,
                           const std::vector<Cell>& cells, const FolderPlaces& places,
                           Identities& identities) {
  StorageNeeds out;
  std::map<std::string, size_t> index;                          // of a revision
  std::map<std::pair<size_t, size_t>, std::set<size_t>> steps;  // by experiment and weights
  const auto add = [&](const CheckpointCell& cell, std::set<size_t>& step) {
    if (is_hub_spec(cell.location)) {
      const auto [entry, added] = index.try_emplace(cell.location, out.revisions.size());
      if (added) {
        out.revisions.push_back(cell.location);
      }
      step.insert(entry->second);
    }
  };
  const auto add_files = [&](size_t at, size_t row) {
    const Experiment& experiment = experiments[at];
    for (const CheckpointCell* cell : files_of(experiment, experiment.weights[row])) {
      add(*cell, steps[{at, row}]);
    }
  };
  auto cell = cells.begin();  // they come experiment by experiment
  for (size_t at = 0; at < experiments.size(); ++at) {
    const Experiment& experiment = experiments[at];
    for (; cell != cells.end() && cell->job == at; ++cell) {
      if (cell->state != CellState::kToDo && cell->state != CellState::kBlocked) {
        continue;
      }
      add_files(at, cell->weights);
      if ((experiment.metrics[cell->metric].needs & QUENCH_METRIC_NEEDS_TRAJECTORY) != 0) {
        for (const size_t place :
             branch_until(experiment, experiment.weights[cell->weights].checkpoint)) {
          add(experiment.checkpoints[place], steps[{at, cell->weights}]);
        }
      }
    }
    for (const RowFolder& row : row_folders(experiment, places)) {
      if (!survey_row(experiment, row, identities).is_current()) {
        add_files(at, row.weights);
      }
    }
    for (size_t row = 0; row < experiment.weights.size(); ++row) {
      out.at.emplace_back(experiment.job, row);
      out.steps.push_back(std::move(steps[{at, row}]));
    }
  }
  return out;
}

}  // namespace quench
