#include "core/hub/fetch/fetch.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/hub/claim.hpp"
#include "core/hub/fetch/cache_writer.hpp"
#include "core/hub/fetch/incomplete_blob.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

class Fetcher {
 public:
  Fetcher(HubApi& api, const FetchOptions& options) : api_(api), options_(options) {}

  void fetch(const PlannedRevision& revision, const fs::path& root) {
    const CachedRepository cache(root, revision.spec);
    open_for_writing(cache);
    HubClaim claim;  // what is linked here stays until the snapshot is whole
    claim.set({{cache.folder(), {revision.commit}}});
    for (const HubFile& file : revision.files) {
      if (!cache.has(file)) {
        fetch_file(revision, file, cache);
        ++state_.files_done;
      }
    }
    add_snapshot(cache, revision.commit, revision.files);
    set_reference(cache, revision.spec.revision, revision.commit);
  }

 private:
  void fetch_file(const PlannedRevision& revision, const HubFile& file,
                  const CachedRepository& cache) {
    HubSpec shown = revision.spec;
    shown.file.clear();
    state_.file = printable(to_text(shown), 200) + ": " + printable(file.path, 200);
    options_.on_progress(state_);
    IncompleteBlob blob(cache.blobs(), file, api_.retries().cancel);
    constexpr int kContents = 2;  // a damaged one is asked for once more
    for (int damaged = 0; damaged < kContents;) {
      receive(revision, file, blob);
      const bool intact = blob.is_intact();
      if (intact) {
        options_.on_arrived(revision, file, blob.identity());
        if (blob.publish()) {
          return;
        }
      }
      blob.restart();
      damaged += intact ? 0 : 1;
      api_.retries().on_wait(intact
                                 ? state_.file + ": another process took the file over; once more"
                                 : fmt::format("{}: what came is damaged: its hash is not {}",
                                               state_.file, file.hash));
    }
    fail(QUENCH_DATA_LOSS,
         "{}: what came has another hash than {}, which the hub lists, {} times in a row; try "
         "again later, or another HF_ENDPOINT",
         state_.file, file.hash, kContents);
  }

  void receive(const PlannedRevision& revision, const HubFile& file, IncompleteBlob& blob) {
    const uint64_t before = state_.bytes_done;
    const uint64_t had = blob.bytes();
    const TimeLimit limit = api_.time_for(file.size - std::min(had, file.size));
    uint64_t most = had;  // a server that starts over each time makes no progress
    retry(api_.retries(), [&](int& failures) {
      if (blob.bytes() == file.size && file.size > 0) {
        return;
      }
      api_.download(revision.spec, revision.commit, file, blob.bytes(), limit,
                    [&](uint64_t at, std::string_view piece) {
                      blob.take(at, piece);
                      if (blob.bytes() > most) {
                        most = blob.bytes();
                        failures = 0;  // the line works
                      }
                      state_.bytes_done = before + (std::max(blob.bytes(), had) - had);
                      options_.on_progress(state_);
                    });
    });
  }

  HubApi& api_;
  const FetchOptions& options_;
  FetchState state_;
};

void check_space(const FetchPlan& plan) {
  fs::path at = fs::absolute(plan.root);
  while (!fs::exists(at) && at.has_relative_path()) {
    at = at.parent_path();
  }
  std::error_code error;
  const fs::space_info space = fs::space(at, error);
  if (!error && space.available < plan.missing_bytes) {
    fail(QUENCH_RESOURCE_EXHAUSTED,
         "{}: too little space: the files need {} more bytes, {} are free; HF_HUB_CACHE names "
         "another place",
         plan.root.string(), plan.missing_bytes, space.available);
  }
}

}  // namespace

void fetch(const FetchPlan& plan, HubApi& api, const FetchOptions& options) {
  check_space(plan);
  const std::atomic<bool>* cancel = api.retries().cancel;
  Fetcher fetcher(api, options);
  for (const PlannedRevision& revision : plan.revisions) {
    if (cancel != nullptr && *cancel) {
      fail(QUENCH_CANCELLED, "stopped on request");
    }
    fetcher.fetch(revision, plan.root);
  }
}

}  // namespace quench
