#include "core/hub/fetch/cache_writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <random>
#include <system_error>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/new_folder.hpp"
#include "core/error.hpp"
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

}  // namespace

void open_for_writing(const CachedRepository& repository) {
  make_folders(repository.blobs());
  make_folders(repository.snapshots());
  make_folders(repository.references());
  remove_ended(repository.folder());
  remove_ended(repository.snapshots());
  remove_published_leftovers(repository.blobs());
  mark_as_cache(repository.folder().parent_path());
}

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

}  // namespace quench
