#include "core/hub/fetch/hub_revisions.hpp"

#include "core/hub/cached_repository.hpp"
#include "core/hub/fetch/download_ledger.hpp"

namespace quench {

HubRevisions::HubRevisions(std::filesystem::path root, std::vector<PlannedRevision> revisions,
                           HubApi& api, DownloadLedger& ledger)
    : root_(std::move(root)), revisions_(std::move(revisions)), api_(api), ledger_(ledger) {}

uint64_t HubRevisions::used() {
  uint64_t bytes = 0;
  for (const auto& [name, blobs] : ledger_.all()) {
    bytes += bytes_held(root_, parse_hub_spec(name), released_[name], ledger_);
  }
  return bytes;
}

bool HubRevisions::has(size_t revision) {
  const PlannedRevision& asked = revisions_[revision];
  const CachedRepository cache(root_, asked.spec);
  // Who fetches it at this moment, or was killed, may not have come to the name yet.
  return cache.has_snapshot(asked.commit, asked.files) &&
         cache.commit_of(asked.spec.revision) == asked.commit;
}

uint64_t HubRevisions::missing(size_t revision) {
  const PlannedRevision& asked = revisions_[revision];
  const CachedRepository cache(root_, asked.spec);
  std::set<std::string> counted;
  uint64_t bytes = 0;
  for (const HubFile& file : asked.files) {
    bytes += !cache.has(file) && counted.insert(file.hash).second ? file.size : 0;
  }
  return bytes;
}

void HubRevisions::fetch(size_t revision) {
  const PlannedRevision& wanted = revisions_[revision];
  FetchPlan plan;
  plan.root = root_;
  plan.revisions = {wanted};
  plan.missing_bytes = missing(revision);
  FetchOptions options;
  options.on_progress = [&](const FetchState& state) { on_progress(wanted, state); };
  options.on_arrived = [&](const PlannedRevision& of, const HubFile& file,
                           const FileIdentity& identity) {
    ledger_.arrived(of.spec, of.commit, file, identity);
  };
  released_[repository_text(wanted.spec)].erase(wanted.commit);  // it counts again
  note_shared(wanted);
  quench::fetch(plan, api_, options);
  claim_.set(claimed_);  // the repository's folder may be new
}

void HubRevisions::note_shared(const PlannedRevision& revision) {
  const DownloadLedger::Blobs own = ledger_.present(root_, revision.spec);
  for (const HubFile& file : revision.files) {
    const auto found = own.find(file.hash);
    if (found != own.end() && !found->second.commits.contains(revision.commit)) {
      ledger_.arrived(revision.spec, revision.commit, file, *found->second.arrivals.begin());
    }
  }
}

void HubRevisions::keep_only(const std::set<size_t>& revisions) {
  for (const auto& [name, blobs] : ledger_.all()) {
    std::set<std::string>& released = released_[name];
    for (const auto& [hash, blob] : blobs) {
      released.insert(blob.commits.begin(), blob.commits.end());
    }
    for (const size_t revision : revisions) {
      if (repository_text(revisions_[revision].spec) == name) {
        released.erase(revisions_[revision].commit);
      }
    }
    evict_weights(root_, parse_hub_spec(name), released, ledger_);
  }
}

void HubRevisions::claim(const std::set<size_t>& revisions) {
  claimed_.clear();
  for (const size_t revision : revisions) {
    const PlannedRevision& each = revisions_[revision];
    claimed_[CachedRepository(root_, each.spec).folder()].insert(each.commit);
  }
  claim_.set(claimed_);
}

}  // namespace quench
