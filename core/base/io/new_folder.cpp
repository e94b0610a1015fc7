#include "core/base/io/new_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>

#include "core/base/io/look.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".partial";

[[noreturn]] void fail_at(const fs::path& path, const std::string& doing, int number) {
  const bool full = number == ENOSPC || number == EDQUOT;
  fail(full ? QUENCH_RESOURCE_EXHAUSTED : QUENCH_FAILED_PRECONDITION, "{}: {} failed: {}",
       printable(path.string(), 4096), doing, std::generic_category().message(number));
}

[[noreturn]] void fail_existing(const fs::path& path) {
  fail(QUENCH_FAILED_PRECONDITION, "{}: already exists; nothing is overwritten",
       printable(path.string(), 4096));
}

// Some network file systems cannot sync folders and return EINVAL; nothing more can be done there.
void sync_folder(int descriptor, const fs::path& path) {
  if (fsync(descriptor) != 0 && errno != EINVAL) {
    fail_at(path, "syncing", errno);
  }
}

}  // namespace

std::optional<FolderIdentity> identity_of_folder(const fs::path& path) {
  struct stat status = {};
  if (!see_entry(path, status) || !S_ISDIR(status.st_mode)) {
    return std::nullopt;
  }
  return FolderIdentity{status.st_dev, status.st_ino};
}

NewFolder::NewFolder(const fs::path& path, Existing existing, mode_t mode) {
  const fs::path normal = fs::absolute(path).lexically_normal();
  path_ = normal.has_filename() ? normal : normal.parent_path();  // without a trailing slash
  std::error_code ignored;
  if (existing == Existing::kRefused &&
      fs::symlink_status(path_, ignored).type() != fs::file_type::not_found) {
    fail_existing(path_);
  }
  temporary_ = temporary_beside(path_, kSuffix);
  if (mkdir(temporary_.c_str(), mode) != 0) {
    const int number = errno;
    temporary_.clear();
    fail_at(path_, "making a temporary folder beside it", number);
  }
  descriptor_ = open(temporary_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor_ < 0) {
    const int number = errno;
    fs::remove_all(temporary_, ignored);
    fail_at(path_, "opening a temporary folder beside it", number);
  }
  remove_abandoned_beside(temporary_);
  beat_.emplace(kTouchInterval, [this] { futimens(descriptor_, nullptr); });
}

NewFolder::~NewFolder() {
  beat_.reset();
  if (!temporary_.empty()) {
    std::error_code ignored;
    fs::remove_all(temporary_, ignored);
  }
  close(descriptor_);
}

void NewFolder::check_whole() const {
  struct stat here = {};
  struct stat named = {};
  const bool same = fstat(descriptor_, &here) == 0 && lstat(temporary_.c_str(), &named) == 0 &&
                    here.st_dev == named.st_dev && here.st_ino == named.st_ino;
  if (!same) {
    fail(QUENCH_DATA_LOSS, "{}: {} was removed or replaced during writing",
         printable(path_.string(), 4096), temporary_.filename().string());
  }
  for (const auto& [name, file] : files_) {
    struct stat status = {};
    if (fstatat(descriptor_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode)) {
      fail(QUENCH_DATA_LOSS, "{}: {} was written but no longer exists",
           printable(path_.string(), 4096), printable(name));
    }
    if (static_cast<uint64_t>(status.st_size) != file.bytes) {
      fail(QUENCH_DATA_LOSS, "{}: {} now has {} bytes, {} were written",
           printable(path_.string(), 4096), printable(name), status.st_size, file.bytes);
    }
  }
}

void NewFolder::sync_parent() const {
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

void NewFolder::commit() {
  if (!commit_if_absent()) {
    fail_existing(path_);
  }
}

bool NewFolder::commit_if_absent() {
  check_whole();
  sync_folder(descriptor_, temporary_);
  // A file system that cannot refuse to replace may let this replace an empty folder.
  int failed = renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE);
  if (failed != 0 && (errno == EINVAL || errno == ENOSYS)) {
    failed = rename(temporary_.c_str(), path_.c_str());
  }
  if (failed != 0 && (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)) {
    return false;
  }
  if (failed != 0) {
    fail_at(path_, "renaming the temporary folder", errno);
  }
  temporary_.clear();
  sync_parent();
  return true;
}

// Afterwards temporary_ holds the folder that was at path_. Returns false if there was none.
bool NewFolder::exchange() {
  int failed = renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE);
  if (failed == 0) {
    return true;
  }
  if (errno == EINVAL || errno == ENOSYS) {
    const fs::path aside = temporary_beside(path_, kSuffix);
    failed = rename(path_.c_str(), aside.c_str());
    if (failed == 0 && rename(temporary_.c_str(), path_.c_str()) == 0) {
      temporary_ = aside;
      return true;
    }
    if (failed == 0) {
      const int number = errno;
      rename(aside.c_str(), path_.c_str());
      fail_at(path_, "renaming the temporary folder", number);
    }
  }
  if (errno != ENOENT) {
    fail_at(path_, "exchanging it with the temporary folder", errno);
  }
  return false;
}

bool NewFolder::replace(const FolderIdentity& old) {
  check_whole();
  sync_folder(descriptor_, temporary_);
  if (identity_of_folder(path_) != old || !exchange()) {
    return false;
  }
  if (identity_of_folder(temporary_) != old) {
    exchange();
    return false;
  }
  sync_parent();
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
  temporary_.clear();
  return true;
}

}  // namespace quench
