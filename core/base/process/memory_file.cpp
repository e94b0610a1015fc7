#include "core/base/process/memory_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace quench {

namespace {

[[noreturn]] void refuse(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

MemoryFile::MemoryFile() : descriptor_(::memfd_create("stream", MFD_CLOEXEC)) {
  if (descriptor_ < 0) {
    refuse("memfd_create");
  }
}

MemoryFile::~MemoryFile() {
  ::close(descriptor_);
}

void MemoryFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(descriptor_, text.data(), text.size());
    if (done >= 0) {
      text.remove_prefix(static_cast<size_t>(done));
    } else if (errno != EINTR) {
      refuse("write to memory");
    }
  }
}

void MemoryFile::rewind() {
  if (::lseek(descriptor_, 0, SEEK_SET) != 0) {
    refuse("lseek");
  }
}

std::string MemoryFile::text(size_t most) const {
  struct stat about {};
  if (::fstat(descriptor_, &about) != 0) {
    refuse("fstat");
  }
  std::string out(std::min(most, static_cast<size_t>(about.st_size)), '\0');
  size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t got =
        ::pread(descriptor_, out.data() + filled, out.size() - filled, static_cast<off_t>(filled));
    if (got <= 0) {
      break;
    }
    filled += static_cast<size_t>(got);
  }
  out.resize(filled);
  return out;
}

}  // namespace quench
