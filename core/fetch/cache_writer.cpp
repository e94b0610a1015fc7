#include "core/fetch/cache_writer.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>
#include <system_error>

#include "core/fetch/incomplete_blob.hpp"
#include "core/io/atomic_file.hpp"
#include "core/io/file.hpp"
#include "core/io/new_folder.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCacheMark =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This file marks the folder as a cache, which backups may leave out.\n";

constexpr std::string_view kGrowing = ".reference.";

// Removes files of references that killed processes left an hour ago or earlier.
void remove_old_growth(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    const auto age = fs::file_time_type::clock::now() - it->last_write_time(gone);
    const bool growing = it->path().filename().string().find(kGrowing) != std::string::npos;
    if (growing && !gone && age > std::chrono::hours(1)) {
      fs::remove(it->path(), gone);
    }
  }
}

// The mark that backup programs know. A kill while it is written leaves an empty one; what others
// wrote stays.
void mark_as_cache(const fs::path& root) {
  const fs::path mark = root / "CACHEDIR.TAG";
  std::error_code absent;
  if (fs::file_size(mark, absent) == 0 || absent) {
    std::ofstream(mark, std::ios::binary) << kCacheMark;
  }
}

// From snapshots/COMMIT/a/b to blobs/HASH: "../../../blobs/HASH".
fs::path link_target(const HubFile& file) {
  const auto depth = std::count(file.path.begin(), file.path.end(), '/');
  fs::path out = "../..";
  for (auto i = depth; i > 0; --i) {
    out /= "..";
  }
  return out / "blobs" / file.hash;
}

void make_link(const fs::path& target, const fs::path& link) {
  if (symlink(target.c_str(), link.c_str()) != 0) {
    fail(QUENCH_FAILED_PRECONDITION,
         "{}: linking to {} failed: {}; the cache wants a file system "
         "with symbolic links",
         link.string(), target.string(), std::generic_category().message(errno));
  }
}

// Whether the link leads to the file's blob, by whatever layout.
bool is_linked(const fs::path& link, const HubFile& file) {
  std::error_code error;
  const fs::path target = fs::canonical(link, error);
  return !error && target.filename() == file.hash;
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

CacheWriter::CacheWriter(fs::path root, const HubSpec& repository)
    : root_(std::move(root)), folder_(repository_folder(repository, root_)) {}

bool CacheWriter::has(const HubFile& file) const {
  std::error_code error;
  const fs::path blob = blobs() / file.hash;
  return fs::is_regular_file(blob, error) && fs::file_size(blob, error) == file.size;
}

bool CacheWriter::has_snapshot(const std::string& commit, const std::vector<HubFile>& files) const {
  return std::all_of(files.begin(), files.end(), [&](const HubFile& file) {
    return has(file) && is_linked(folder_ / "snapshots" / commit / file.path, file);
  });
}

bool CacheWriter::has_reference(const std::string& name, const std::string& commit) const {
  const fs::path reference = folder_ / "refs" / name;
  std::error_code error;
  return name == commit ||
         (fs::is_regular_file(reference, error) && read_file(reference, 1024) == commit);
}

void CacheWriter::open() const {
  make_folders(blobs());
  make_folders(folder_ / "snapshots");
  make_folders(folder_ / "refs");
  remove_old_growth(folder_);
  remove_ended(folder_ / "snapshots");
  remove_published_leftovers(blobs());
  mark_as_cache(root_);
}

void CacheWriter::add_snapshot(const std::string& commit, const std::vector<HubFile>& files) const {
  const fs::path snapshot = folder_ / "snapshots" / commit;
  if (!fs::exists(snapshot)) {
    NewFolder made(snapshot);
    for (const HubFile& file : files) {
      const fs::path link = made.temporary() / file.path;
      make_folders(link.parent_path());
      make_link(link_target(file), link);
    }
    if (made.commit_if_absent()) {
      return;
    }
  }
  for (const HubFile& file : files) {
    const fs::path link = snapshot / file.path;
    make_folders(link.parent_path());
    if (!is_linked(link, file)) {
      replace_link(link_target(file), link);
    }
    sync_folder_of(link);
  }
}

void CacheWriter::set_reference(const std::string& name, const std::string& commit) const {
  const fs::path reference = folder_ / "refs" / name;
  if (has_reference(name, commit)) {
    return;
  }
  make_folders(reference.parent_path());
  // Everything below refs/ is a revision to all who read the cache, so the file grows elsewhere.
  std::random_device random;
  const fs::path grown = folder_ / fmt::format("{}{:08x}", kGrowing, random());
  {
    AtomicFile file(grown, commit.size());
    file.write(commit);
    file.commit();
  }
  if (rename(grown.c_str(), reference.c_str()) != 0) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: writing the revision's commit failed: {}",
         reference.string(), std::generic_category().message(errno));
  }
  sync_folder_of(reference);
}

}  // namespace quench
