#include "core/io/new_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "core/error.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_at(const fs::path& path, const char* doing, int number) {
  const bool full = number == ENOSPC || number == EDQUOT;
  fail(full ? QUENCH_RESOURCE_EXHAUSTED : QUENCH_FAILED_PRECONDITION, "{}: {} failed: {}",
       printable(path.string(), 4096), doing, std::generic_category().message(number));
}

[[noreturn]] void fail_existing(const fs::path& path) {
  fail(QUENCH_FAILED_PRECONDITION, "{}: is there already, and nothing is overwritten",
       printable(path.string(), 4096));
}

// A descriptor of the folder with its lock, or -1 when another process has it.
int open_locked(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    close(descriptor);
    return -1;
  }
  return descriptor;
}

// Some network file systems do not sync folders and say EINVAL; there is nothing to do there.
void sync_folder(int descriptor, const fs::path& path) {
  if (fsync(descriptor) != 0 && errno != EINVAL) {
    fail_at(path, "syncing", errno);
  }
}

std::string temporary_prefix(const fs::path& path) {
  return "." + path.filename().string() + ".";
}

// What killed processes left beside `path`.
void remove_leftovers(const fs::path& parent, const std::string& prefix) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(".partial")) {
      continue;
    }
    const int descriptor = open_locked(entry.path());
    if (descriptor >= 0) {
      fs::remove_all(entry.path(), ignored);
      close(descriptor);
    }
  }
}

}  // namespace

NewFolder::NewFolder(const fs::path& path) {
  const fs::path normal = fs::absolute(path).lexically_normal();
  path_ = normal.has_filename() ? normal : normal.parent_path();  // without a slash at the end
  std::error_code ignored;
  if (fs::symlink_status(path_, ignored).type() != fs::file_type::not_found) {
    fail_existing(path_);
  }
  static std::atomic<uint64_t> counter{0};
  const std::string prefix = temporary_prefix(path_);
  remove_leftovers(path_.parent_path(), prefix);
  temporary_ = path_.parent_path() / fmt::format("{}{}-{}.partial", prefix, getpid(), counter++);
  if (mkdir(temporary_.c_str(), 0777) != 0) {
    const int number = errno;
    temporary_.clear();
    fail_at(path_, "making a temporary folder beside it", number);
  }
  descriptor_ = open_locked(temporary_);
  if (descriptor_ < 0) {
    const int number = errno;
    fs::remove_all(temporary_, ignored);
    fail_at(path_, "locking a temporary folder beside it", number);
  }
}

NewFolder::~NewFolder() {
  if (!temporary_.empty()) {
    std::error_code ignored;
    fs::remove_all(temporary_, ignored);
  }
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

void NewFolder::commit() {
  sync_folder(descriptor_, temporary_);
  // Where the file system cannot refuse to replace, an empty folder may be replaced.
  int failed = renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE);
  if (failed != 0 && (errno == EINVAL || errno == ENOSYS)) {
    failed = rename(temporary_.c_str(), path_.c_str());
  }
  if (failed != 0 && (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)) {
    fail_existing(path_);
  }
  if (failed != 0) {
    fail_at(path_, "renaming the temporary folder", errno);
  }
  temporary_.clear();
  const int parent = open(path_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0) {
    fail_at(path_, "opening its folder", errno);
  }
  const int synced = fsync(parent);
  const int number = errno;
  close(parent);
  if (synced != 0 && number != EINVAL) {
    fail_at(path_, "syncing its folder", number);
  }
}

}  // namespace quench
