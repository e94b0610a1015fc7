#include "core/base/io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/base/io/lease.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_writing(const fs::path& path, const char* doing, int number) {
  const bool full = number == ENOSPC || number == EDQUOT || number == EFBIG;
  fail(full ? QUENCH_RESOURCE_EXHAUSTED : QUENCH_FAILED_PRECONDITION, "{}: {} failed: {}",
       path.string(), doing, std::generic_category().message(number));
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

AtomicFile::AtomicFile(fs::path path, uint64_t needed, WrittenFiles* list, const fs::path& beside)
    : path_(std::move(path)), needed_(needed), list_(list) {
  refuse_special_file(path_);
  if (list_ != nullptr) {
    hash_.emplace();
  }
  temporary_ = temporary_beside(beside.empty() ? path_ : beside, ".tmp");
  descriptor_ =
      open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) {
    fail_writing(path_, "creating a temporary file in its folder", errno);
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
  if (!temporary_.empty()) {
    unlink(temporary_.c_str());
  }
}

void AtomicFile::write(const void* data, uint64_t bytes) {
  write_all(descriptor_, data, bytes, path_, written_, needed_);
  written_ += bytes;
  if (hash_) {
    hash_->update(data, bytes);
  }
}

void AtomicFile::finish_writing() {
  if (fsync(descriptor_) != 0) {
    fail_writing(path_, "syncing", errno);
  }
  // close() releases the descriptor even if it fails.
  if (close(std::exchange(descriptor_, -1)) != 0) {
    fail_writing(path_, "closing", errno);
  }
}

void AtomicFile::commit() {
  finish_writing();
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail_writing(path_, "renaming the temporary file", errno);
  }
  temporary_.clear();
  sync_folder_of(path_);
  if (hash_) {
    (*list_)[path_.filename().string()] = {written_, hash_->hex_digest()};
  }
}

bool AtomicFile::commit_new() {
  finish_writing();
  bool fresh = link(temporary_.c_str(), path_.c_str()) == 0;
  if (!fresh && errno != EEXIST) {
    const int number = errno;
    const bool no_links = number == EPERM || number == EOPNOTSUPP || number == ENOSYS ||
                          number == EMLINK || number == EINVAL;
    if (!no_links) {
      fail_writing(path_, "linking the temporary file", number);
    }
    struct stat status = {};
    fresh = lstat(path_.c_str(), &status) != 0;
    if (fresh && rename(temporary_.c_str(), path_.c_str()) != 0) {
      fail_writing(path_, "renaming the temporary file", errno);
    }
  }
  unlink(temporary_.c_str());
  temporary_.clear();
  // Sync even if another process published the file: its own sync may not be finished.
  sync_folder_of(path_);
  return fresh;
}

void sync_folder_of(const fs::path& path) {
  const int descriptor = open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    fail_writing(path, "opening its folder", errno);
  }
  const int result = fsync(descriptor);
  const int number = errno;
  close(descriptor);
  // Some network file systems cannot sync folders and return EINVAL; nothing more can be done
  // there.
  if (result != 0 && number != EINVAL) {
    fail_writing(path, "syncing its folder", number);
  }
}

void make_folders(const fs::path& folder) {
  if (folder.empty() || mkdir(folder.c_str(), 0777) == 0) {
    if (!folder.empty()) {
      sync_folder_of(folder);
    }
    return;
  }
  if (errno == ENOENT && folder.has_parent_path() && folder.parent_path() != folder) {
    make_folders(folder.parent_path());
    if (mkdir(folder.c_str(), 0777) == 0) {
      sync_folder_of(folder);
      return;
    }
  }
  const int number = errno;
  struct stat status = {};
  if (number == EEXIST && stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return;
  }
  fail_writing(folder, "making the folder", number);
}

void write_all(int descriptor, const void* data, uint64_t bytes, const fs::path& path,
               uint64_t already, uint64_t needed) {
  constexpr uint64_t kLargestWrite = uint64_t{1} << 30;
  const char* from = static_cast<const char*>(data);
  uint64_t done = 0;
  while (done < bytes) {
    const ssize_t put = ::write(descriptor, from + done, std::min(bytes - done, kLargestWrite));
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put < 0 && (errno == ENOSPC || errno == EDQUOT)) {
      fail(QUENCH_RESOURCE_EXHAUSTED, "{}: {}: needs {} bytes, {} were written", path.string(),
           errno == ENOSPC ? "no space left on the device" : "disk quota exceeded",
           std::max(needed, already + bytes), already + done);
    }
    if (put < 0) {
      fail_writing(path, fmt::format("writing at offset {}", already + done).c_str(), errno);
    }
    done += static_cast<uint64_t>(put);
  }
}

void refuse_special_file(const fs::path& path) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: is a {}; only a regular file can be replaced",
         printable(path.string(), 4096),
         S_ISDIR(status.st_mode)    ? "folder"
         : S_ISFIFO(status.st_mode) ? "pipe"
                                    : "device or socket");
  }
}

void write_file_atomically(const fs::path& path, std::string_view content, WrittenFiles* list) {
  AtomicFile file(path, content.size(), list);
  file.write(content);
  file.commit();
}

}  // namespace quench
