// `run --fetch` with a section `storage`: the next revision comes while this one computes, and goes
// when no cell needs it any more.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "cli/hub_session.hpp"
#include "cli/manifest_options.hpp"
#include "cli/storage.hpp"
#include "core/hub/fetch/download_ledger.hpp"
#include "core/hub/fetch/hub_revisions.hpp"
#include "core/hub/fetch/revision_window.hpp"
#include "run/run_status.hpp"

namespace quench {

class FetchedWeights final : public WeightsSupply {
 public:
  // Asks the hub for the files of the revisions of `needs`, if there are any, and for nothing else.
  // All must outlive it. Throws UsageError for a limit that is too small, and what planning throws.
  FetchedWeights(const LoadedRun& run, const ManifestStorage& storage, StorageNeeds needs,
                 HubSession& session, Identities& identities, const std::filesystem::path& cache);
  ~FetchedWeights() override;
  FetchedWeights(const FetchedWeights&) = delete;
  FetchedWeights& operator=(const FetchedWeights&) = delete;

  void begin(size_t job, size_t weights) override;
  void end() override;

 private:
  void fetch_in_background(size_t revision);
  // Waits for the fetch in the background. The step that needs the revision meets the failure
  // again.
  void wait();

  StorageNeeds needs_;
  Identities& identities_;
  std::map<std::pair<size_t, size_t>, size_t> steps_;         // by job and weights
  std::map<std::string, std::vector<CheckpointCell>> cells_;  // by location
  DownloadLedger ledger_;
  std::unique_ptr<HubRevisions> store_;
  std::unique_ptr<RevisionWindow> window_;
  std::thread thread_;
  std::atomic<bool> in_background_ = false;
  std::atomic<bool> stop_ = false;  // the run ends, so the fetch in the background does
};

}  // namespace quench
