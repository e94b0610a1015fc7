#include "core/io/new_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>

#include "core/error.hpp"
#include "core/io/process_identity.hpp"
#include "core/parse_number.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".partial";
constexpr int64_t kSilence = 86400;  // seconds
constexpr std::chrono::minutes kBeat{10};
// A file name may have 255 bytes, of which the identity takes fewer than 80.
constexpr size_t kShownName = 160;

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

// ".<name>.<place>-<pid>-<start>-<8 hex>.partial"
fs::path temporary_beside(const fs::path& path) {
  static const ProcessIdentity self = this_process();
  std::random_device random;
  return path.parent_path() / fmt::format(".{}.{}-{}-{}-{:08x}{}",
                                          path.filename().string().substr(0, kShownName),
                                          self.place, self.pid, self.start, random(), kSuffix);
}

// The process named in a temporary folder's name; nothing for other names.
std::optional<ProcessIdentity> writer_in(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(kSuffix)) {
    return std::nullopt;
  }
  name.remove_suffix(kSuffix.size());
  name = name.substr(name.rfind('.') + 1);
  std::string_view parts[4];
  for (size_t i = 0; i < 4; ++i) {
    const size_t end = i < 3 ? name.find('-') : name.size();
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    parts[i] = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  constexpr const char* kHex = "0123456789abcdef";
  const auto is_hex = [&](std::string_view text) {
    return text.size() == 8 && text.find_first_not_of(kHex) == std::string_view::npos;
  };
  ProcessIdentity out;
  const auto pid = parse_number<decltype(out.pid)>(parts[1]);
  const auto start = parse_number<decltype(out.start)>(parts[2]);
  if (!is_hex(parts[0]) || !is_hex(parts[3]) || !pid || !start) {
    return std::nullopt;
  }
  out.place = parts[0];
  out.pid = *pid;
  out.start = *start;
  return out;
}

void remove_abandoned_in(const fs::path& parent, int64_t now_seconds) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    if (is_abandoned(entry.path(), now_seconds)) {
      fs::remove_all(entry.path(), ignored);
    }
  }
}

// Removes what ended processes left beside `mine`, which this process has just made.
void remove_abandoned_beside(const fs::path& mine) {
  struct stat status = {};
  if (lstat(mine.c_str(), &status) == 0) {
    remove_abandoned_in(mine.parent_path(), status.st_mtim.tv_sec);
  }
}

}  // namespace

std::optional<FolderIdentity> identity_of_folder(const fs::path& path) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return std::nullopt;
  }
  return FolderIdentity{status.st_dev, status.st_ino};
}

void remove_ended(const fs::path& parent) {
  remove_abandoned_in(parent, /*now_seconds=*/0);  // at time 0 no folder has been silent for long
}

bool is_abandoned(const fs::path& folder, int64_t now_seconds) {
  const auto writer = writer_in(folder.filename().string());
  struct stat status = {};
  // Another user's processes may be hidden, and his folders are not ours to remove.
  if (!writer || lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != geteuid()) {
    return false;
  }
  const std::optional<bool> running = is_running(*writer);
  return running ? !*running : status.st_mtim.tv_sec < now_seconds - kSilence;
}

NewFolder::NewFolder(const fs::path& path, Existing existing) {
  const fs::path normal = fs::absolute(path).lexically_normal();
  path_ = normal.has_filename() ? normal : normal.parent_path();  // without a trailing slash
  std::error_code ignored;
  if (existing == Existing::kRefused &&
      fs::symlink_status(path_, ignored).type() != fs::file_type::not_found) {
    fail_existing(path_);
  }
  temporary_ = temporary_beside(path_);
  if (mkdir(temporary_.c_str(), 0777) != 0) {
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
  thread_ = std::thread([this] { keep_alive(); });
}

NewFolder::~NewFolder() {
  stop();
  if (!temporary_.empty()) {
    std::error_code ignored;
    fs::remove_all(temporary_, ignored);
  }
  close(descriptor_);
}

void NewFolder::keep_alive() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!wake_.wait_for(lock, kBeat, [this] { return stopped_; })) {
    futimens(descriptor_, nullptr);
  }
}

void NewFolder::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
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
    const fs::path aside = temporary_beside(path_);
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
