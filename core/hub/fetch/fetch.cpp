#include "core/hub/fetch/fetch.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/new_folder.hpp"
#include "core/error.hpp"
#include "core/hub/cached_repository.hpp"
#include "core/hub/claim.hpp"
#include "core/hub/fetch/incomplete_blob.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCacheMark =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This file marks the folder as a cache, which backups may leave out.\n";

// The mark that backup programs know. A kill while it is written leaves an empty one; what others
// wrote stays.
void mark_as_cache(const fs::path& root) {
  const fs::path mark = root / "CACHEDIR.TAG";
  std::error_code absent;
  if (fs::file_size(mark, absent) == 0 || absent) {
    std::ofstream(mark, std::ios::binary) << kCacheMark;
  }
}

void make_link(const fs::path& target, const fs::path& link) {
  if (symlink(target.c_str(), link.c_str()) != 0) {
    fail(QUENCH_FAILED_PRECONDITION,
         "{}: linking to {} failed: {}; the cache wants a file system "
         "with symbolic links",
         link.string(), target.string(), std::generic_category().message(errno));
  }
}

void replace_link(const fs::path& target, const fs::path& link) {
  std::random_device random;
  const fs::path temporary =
      link.parent_path() / fmt::format(".{}.{:08x}", link.filename().string(), random());
  make_link(target, temporary);
  if (rename(temporary.c_str(), link.c_str()) != 0) {
    const int number = errno;
    unlink(temporary.c_str());
    fail(QUENCH_FAILED_PRECONDITION, "{}: replacing it failed: {}", link.string(),
         std::generic_category().message(number));
  }
}

// Makes the folders, and the mark with which backup programs leave a cache out. Removes what killed
// processes left and no other can use.
void open_for_writing(const CachedRepository& repository) {
  make_folders(repository.blobs());
  make_folders(repository.snapshots());
  make_folders(repository.references());
  remove_ended(repository.folder());
  remove_ended(repository.snapshots());
  remove_published_leftovers(repository.blobs());
  mark_as_cache(repository.folder().parent_path());
}

// Links all files, whose blobs are there. A snapshot that exists gets what it lacks.
void add_snapshot(const CachedRepository& repository, const std::string& commit,
                  const std::vector<HubFile>& files) {
  const fs::path snapshot = repository.snapshot(commit);
  if (!fs::exists(snapshot)) {
    NewFolder made(snapshot);
    for (const HubFile& file : files) {
      const fs::path link = made.temporary() / file.path;
      make_folders(link.parent_path());
      make_link(repository.link_target(commit, file), link);
    }
    if (made.commit_if_absent()) {
      return;
    }
  }
  for (const HubFile& file : files) {
    const fs::path link = snapshot / file.path;
    make_folders(link.parent_path());
    if (!repository.is_linked(commit, file)) {
      replace_link(repository.link_target(commit, file), link);
    }
    sync_folder_of(link);
  }
}

void set_reference(const CachedRepository& repository, const std::string& name,
                   const std::string& commit) {
  const fs::path reference = repository.references() / name;
  if (repository.commit_of(name) == commit) {
    return;
  }
  make_folders(reference.parent_path());
  // Everything below refs/ is a revision to all who read the cache, so the file grows in a folder
  // that goes with this process.
  const NewFolder growing(repository.folder() / "reference");
  const fs::path grown = growing.temporary() / "commit";
  write_file_atomically(grown, commit);
  if (rename(grown.c_str(), reference.c_str()) != 0) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: writing the revision's commit failed: {}",
         reference.string(), std::generic_category().message(errno));
  }
  sync_folder_of(reference);
}

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
  Fetcher fetcher(api, options);
  for (const PlannedRevision& revision : plan.revisions) {
    stop_if_asked(api.retries().cancel);
    fetcher.fetch(revision, plan.root);
  }
}

}  // namespace quench
