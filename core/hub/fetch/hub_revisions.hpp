// The hub's cache as the store in which a run's revisions lie.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/hub/claim.hpp"
#include "core/hub/fetch/download_ledger.hpp"
#include "core/hub/fetch/fetch.hpp"
#include "core/hub/fetch/revision_window.hpp"

namespace quench {

// Everything but fetch() is called while no fetch() is under way. Throws what fetch(),
// evict_weights() and the ledger throw.
class HubRevisions final : public RevisionStore {
 public:
  // Those are held by reference and must outlive it. `root`: of the cache.
  HubRevisions(std::filesystem::path root, std::vector<PlannedRevision> revisions, HubApi& api,
               DownloadLedger& ledger);

  // Called by fetch(), on its thread.
  std::function<void(const PlannedRevision&, const FetchState&)> on_progress =
      [](const PlannedRevision&, const FetchState&) {};

  uint64_t used() override;
  bool has(size_t revision) override;
  uint64_t missing(size_t revision) override;
  void fetch(size_t revision) override;
  void keep_only(const std::set<size_t>& revisions) override;
  void claim(const std::set<size_t>& revisions) override;

 private:
  // Files that came for another revision of the run and will be this one's, too.
  void note_shared(const PlannedRevision& revision);

  std::filesystem::path root_;
  std::vector<PlannedRevision> revisions_;
  HubApi& api_;
  DownloadLedger& ledger_;
  // By repository: the commits of the ledger that no revision which is kept has.
  std::map<std::string, std::set<std::string>> released_;
  HubClaim claim_;
  HubClaim::Commits claimed_;
};

}  // namespace quench
