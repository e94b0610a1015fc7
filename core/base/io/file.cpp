#include "core/base/io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/base/io/passing_fault.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

std::string reason(int number) {
  return std::generic_category().message(number);
}

struct stat status_of(int descriptor, const std::filesystem::path& path) {
  struct stat status = {};
  if (fstat(descriptor, &status) != 0) {
    const int number = errno;
    fail(status_of_fault(number, QUENCH_DATA_LOSS), "{}: stat failed: {}", path.string(),
         reason(number));
  }
  return status;
}

FileIdentity identity_of(const struct stat& status) {
  constexpr int64_t kSecond = 1'000'000'000;
  return {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
          status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec,
          status.st_ctim.tv_sec * kSecond + status.st_ctim.tv_nsec};
}

const char* kind_of(mode_t mode) {
  return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : "a device";
}

}  // namespace

// O_NONBLOCK: opening a named pipe must not wait for its writer. Regular files ignore the flag.
File::File(std::filesystem::path path)
    : path_(std::move(path)), descriptor_(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) {
    const int number = errno;
    const bool absent = number == ENOENT || number == ENOTDIR;
    fail(absent ? QUENCH_NOT_FOUND : status_of_fault(number, QUENCH_FAILED_PRECONDITION),
         "{}: cannot be opened: {}", printable(path_.string(), 4096), reason(number));
  }
  try {
    const struct stat status = status_of(descriptor_, path_);
    if (!S_ISREG(status.st_mode)) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: is {}, wanted a file", printable(path_.string(), 4096),
           kind_of(status.st_mode));
    }
    identity_ = identity_of(status);
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

File::~File() {
  close(descriptor_);
}

void File::read(uint64_t offset, void* destination, uint64_t bytes) const {
  if (offset > size() || bytes > size() - offset) {
    fail(QUENCH_DATA_LOSS, "{}: wanted {} bytes at offset {}, the file has {}", path_.string(),
         bytes, offset, size());
  }
  const uint64_t got = read_present(offset, destination, bytes);
  if (got < bytes) {
    fail(QUENCH_DATA_LOSS, "{}: file truncated while in use: ends at offset {}, had {} bytes",
         path_.string(), offset + got, size());
  }
  // Checks after the read, to notice a change during the read as well.
  check_unchanged(offset);
}

uint64_t File::read_present(uint64_t offset, void* destination, uint64_t bytes) const {
  // Linux reads at most 2^31 - 4096 bytes per call.
  constexpr uint64_t kLargestRead = uint64_t{1} << 30;
  char* out = static_cast<char*>(destination);
  uint64_t done = 0;
  while (done < bytes) {
    const ssize_t got = pread(descriptor_, out + done, std::min(bytes - done, kLargestRead),
                              static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      const int number = errno;
      fail(status_of_fault(number, QUENCH_DATA_LOSS),
           "{}: reading {} bytes at offset {} failed: {}", path_.string(), bytes - done,
           offset + done, reason(number));
    }
    if (got == 0) {
      break;
    }
    done += static_cast<uint64_t>(got);
  }
  return done;
}

void File::check_unchanged(uint64_t offset) const {
  const FileIdentity now = identity_of(status_of(descriptor_, path_));
  if (now.size != identity_.size) {
    fail(QUENCH_DATA_LOSS,
         "{}: file changed while in use: {} bytes now, {} when opened (reading at offset {})",
         path_.string(), now.size, identity_.size, offset);
  }
  // Does not compare changed_ns: a new or removed link, a mode or an owner changes it without
  // changing the content. Other processes may open a file that AtomicFile::commit_new has just
  // published before its temporary name is removed.
  if (now.device != identity_.device || now.inode != identity_.inode ||
      now.modified_ns != identity_.modified_ns) {
    fail(QUENCH_DATA_LOSS,
         "{}: file changed while in use: written or replaced since it was opened (reading at "
         "offset {})",
         path_.string(), offset);
  }
}

namespace {

void check_limit(const File& file, uint64_t limit) {
  if (file.size() > limit) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} bytes, wanted at most {}", file.path().string(),
         file.size(), limit);
  }
}

}  // namespace

void refuse_lfs_pointer(const File& file) {
  constexpr std::string_view kStart = "version https://git-lfs";
  char start[kStart.size()];
  if (std::string_view(start, file.read_present(0, start, sizeof start)) == kStart) {
    fail(QUENCH_NOT_FOUND, "{}: a Git LFS pointer, not the file itself; `git lfs pull` fetches it",
         file.path().string());
  }
}

std::string read_file(const std::filesystem::path& path, uint64_t limit) {
  const File file(path);
  check_limit(file, limit);
  std::string content(file.size(), '\0');
  file.read(0, content.data(), content.size());
  return content;
}

std::string read_appended_file(const std::filesystem::path& path, uint64_t limit) {
  const File file(path);
  check_limit(file, limit);
  std::string content(file.size(), '\0');
  content.resize(file.read_present(0, content.data(), content.size()));
  return content;
}

}  // namespace quench
