#include "corpora/shared/file.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "quench/kit/host.hpp"

namespace quench::corpora {

quench_status status_of_path(int number) {
  switch (number) {
    case ENOENT:
      return QUENCH_NOT_FOUND;
    case EACCES:
    case EPERM:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:  // a socket
      return QUENCH_INVALID_ARGUMENT;
    default:
      return QUENCH_DATA_LOSS;
  }
}

namespace {

// The mode of what stands at the path; 0: nothing that can be reached.
mode_t mode_at(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) {
    return status.st_mode;
  }
  if (status_of_path(errno) == QUENCH_DATA_LOSS) {
    kit::fail(QUENCH_DATA_LOSS, "%s: cannot be looked at: %s", path.c_str(), std::strerror(errno));
  }
  return 0;
}

}  // namespace

bool exists_at(const std::string& path) {
  return mode_at(path) != 0;
}

bool is_folder_at(const std::string& path) {
  return S_ISDIR(mode_at(path));
}

// O_NONBLOCK: opening a named pipe must not wait for a writer. It has no effect on regular files.
File::File(const std::string& path) : path_(path) {
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    kit::fail(status_of_path(errno), "%s: cannot be read: %s", path.c_str(), std::strerror(errno));
  }
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) {
    const int number = errno;
    close(descriptor_);
    kit::fail(QUENCH_DATA_LOSS, "%s: cannot be looked at: %s", path.c_str(), std::strerror(number));
  }
  if (!S_ISREG(status.st_mode)) {
    close(descriptor_);
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: got %s, wanted a file", path.c_str(),
              S_ISDIR(status.st_mode)    ? "a folder"
              : S_ISFIFO(status.st_mode) ? "a pipe"
                                         : "a device");
  }
  size_ = static_cast<uint64_t>(status.st_size);
}

File::~File() {
  close(descriptor_);
}

size_t File::read(uint64_t offset, char* into, size_t bytes) const {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        pread(descriptor_, into + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      kit::fail(QUENCH_DATA_LOSS, "%s: byte %llu cannot be read: %s", path_.c_str(),
                static_cast<unsigned long long>(offset + done), std::strerror(errno));
    }
    if (got == 0) {
      break;
    }
    done += static_cast<size_t>(got);
  }
  return done;
}

void File::read_exactly(uint64_t offset, char* into, size_t bytes) const {
  const size_t got = read(offset, into, bytes);
  if (got != bytes) {
    kit::fail(QUENCH_DATA_LOSS, "%s: ends at byte %llu, wanted %zu bytes from byte %llu",
              path_.c_str(), static_cast<unsigned long long>(offset + got), bytes,
              static_cast<unsigned long long>(offset));
  }
}

size_t FileRange::read(char* into, size_t bytes) {
  const auto wanted = static_cast<size_t>(std::min<uint64_t>(bytes, to_ - at_));
  file_.read_exactly(at_, into, wanted);
  at_ += wanted;
  return wanted;
}

namespace {

std::string digest_of(const std::vector<std::string>& paths, bool with_sizes) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                   EVP_MD_CTX_free);
  const auto expect = [](bool worked) {
    if (!worked) {
      throw kit::Error(QUENCH_INTERNAL, "SHA-256 is not available");
    }
  };
  expect(context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1);
  std::vector<char> buffer(1 << 20);
  for (const std::string& path : paths) {
    const File file(path);
    const uint64_t size = file.size();
    expect(!with_sizes || EVP_DigestUpdate(context.get(), &size, sizeof size) == 1);
    uint64_t at = 0;
    while (const size_t got = file.read(at, buffer.data(), buffer.size())) {
      kit::check_cancelled();
      expect(EVP_DigestUpdate(context.get(), buffer.data(), got) == 1);
      at += got;
    }
  }
  unsigned char digest[32];
  expect(EVP_DigestFinal_ex(context.get(), digest, nullptr) == 1);
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

}  // namespace

std::string sha256_of(const std::vector<std::string>& paths) {
  return digest_of(paths, false);
}

std::string sha256_of_each(const std::vector<std::string>& paths) {
  return digest_of(paths, true);
}

}  // namespace quench::corpora
