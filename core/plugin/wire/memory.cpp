#include "core/plugin/wire/memory.hpp"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "core/error.hpp"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1 */
#endif

namespace quench::wire {

namespace {

Descriptor make_memory() {
  Descriptor made(memfd_create("quench", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made || ftruncate(made.get(), static_cast<off_t>(kMemoryBytes)) != 0) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "no shared memory for another process: {}",
         std::strerror(errno));
  }
  return made;
}

// What the system can give without swapping, in bytes; unlimited where it does not say.
uint64_t free_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word) {
    if (uint64_t kib = 0; word == "MemAvailable:" && file >> kib) {
      return kib * 1024;
    }
  }
  return ~uint64_t{0};
}

}  // namespace

Mapping::Mapping(int descriptor, int protection) {
  struct stat found {};
  if (fstat(descriptor, &found) != 0) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "shared memory of another process cannot be looked at: {}",
         std::strerror(errno));
  }
  if (static_cast<uint64_t>(found.st_size) != kMemoryBytes) {
    fail(QUENCH_INVALID_ARGUMENT, "shared memory of {} bytes, wanted {}", found.st_size,
         kMemoryBytes);
  }
  void* at = mmap(nullptr, kMemoryBytes, protection, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (at == MAP_FAILED) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "shared memory for another process cannot be mapped: {}",
         std::strerror(errno));
  }
  madvise(at, kMemoryBytes, MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(at);
}

Mapping::~Mapping() {
  munmap(data_, kMemoryBytes);
}

OwnMemory::OwnMemory(bool only_here)
    : descriptor_(make_memory()), mapping_(descriptor_.get(), PROT_READ | PROT_WRITE) {
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | (only_here ? F_SEAL_FUTURE_WRITE : 0);
  if (fcntl(descriptor_.get(), F_ADD_SEALS, seals | F_SEAL_SEAL) != 0) {
    fail(QUENCH_INTERNAL, "shared memory cannot be sealed: {}", std::strerror(errno));
  }
}

OwnMemory::OwnMemory(Descriptor descriptor)
    : descriptor_(std::move(descriptor)), mapping_(descriptor_.get(), PROT_READ | PROT_WRITE) {}

std::byte* OwnMemory::take(uint64_t bytes) {
  if (most_ < top_ + kAlignment || bytes > most_ - top_ - kAlignment) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "{} bytes do not fit into the memory shared with a process",
         bytes);
  }
  const uint64_t fresh = std::max(top_ + bytes, highest_) - highest_;
  if (const uint64_t free = fresh > kKeptBytes ? free_memory() : kMemoryBytes; fresh > free) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "{} bytes for a value of another process, and {} are free",
         bytes, free);
  }
  std::byte* out = mapping_.data() + top_;
  top_ = (top_ + bytes + kAlignment - 1) / kAlignment * kAlignment;
  highest_ = std::max(highest_, top_);
  return out;
}

bool OwnMemory::holds(const void* at) const {
  const auto* byte = static_cast<const std::byte*>(at);
  return byte >= mapping_.data() && byte < mapping_.data() + top_;
}

void OwnMemory::reset(uint64_t top) {
  top_ = std::min(top, top_);
  if (top_ > 0 || highest_ <= kKeptBytes) {
    return;
  }
  const uint64_t kept = std::max(kKeptBytes, pinnable_.pinned());
  // One that only this process may write is sealed against giving pages back, too.
  if (highest_ > kept &&
      fallocate(descriptor_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                static_cast<off_t>(kept), static_cast<off_t>(highest_ - kept)) == 0) {
    highest_ = kept;
  }
}

TheirMemory::TheirMemory(Descriptor descriptor)
    : descriptor_(std::move(descriptor)), mapping_(descriptor_.get(), PROT_READ) {}

const std::byte* TheirMemory::at(uint64_t offset, uint64_t bytes) const {
  return offset > kMemoryBytes || bytes > kMemoryBytes - offset ? nullptr
                                                                : mapping_.data() + offset;
}

uint64_t TheirMemory::written() const {
  struct stat found {};
  return fstat(descriptor_.get(), &found) == 0 ? static_cast<uint64_t>(found.st_blocks) * 512 : 0;
}

}  // namespace quench::wire
