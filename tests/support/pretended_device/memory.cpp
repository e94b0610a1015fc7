#include "tests/support/pretended_device/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

namespace {

struct Pages {
  std::mutex mutex;
  std::map<void*, size_t> blocks;  // address, bytes
  int inside = 0;
  size_t bytes = 0;
  size_t peak = 0;
  size_t free = size_t{1} << 30;
};

Pages& pages() {
  static Pages all;
  return all;
}

void protect(void* memory, size_t bytes, bool open) {
  if (mprotect(memory, bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) {
    std::abort();
  }
}

}  // namespace

void* pretended_allocate(size_t bytes) {
  Pages& all = pages();
  const std::lock_guard lock(all.mutex);
  const size_t size = bytes > 0 ? bytes : 1;
  void* made = mmap(nullptr, size, all.inside > 0 ? PROT_READ | PROT_WRITE : PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) {
    return nullptr;
  }
  all.blocks.emplace(made, size);
  all.bytes += size;
  all.peak = std::max(all.peak, all.bytes);
  return made;
}

void pretended_release(void* memory) {
  Pages& all = pages();
  const std::lock_guard lock(all.mutex);
  const auto found = all.blocks.find(memory);
  if (found == all.blocks.end()) {
    std::abort();  // not of here, or released twice
  }
  munmap(found->first, found->second);
  all.bytes -= found->second;
  all.blocks.erase(found);
}

void pretended_enter() {
  Pages& all = pages();
  const std::lock_guard lock(all.mutex);
  if (all.inside++ == 0) {
    for (const auto& [memory, bytes] : all.blocks) {
      protect(memory, bytes, true);
    }
  }
}

void pretended_leave() {
  Pages& all = pages();
  const std::lock_guard lock(all.mutex);
  if (--all.inside == 0) {
    for (const auto& [memory, bytes] : all.blocks) {
      protect(memory, bytes, false);
    }
  }
}

void pretended_free_bytes(size_t bytes) {
  Pages& all = pages();
  const std::lock_guard lock(all.mutex);
  all.free = bytes;
}

size_t pretended_free() {
  Pages& all = pages();
  const std::lock_guard lock(all.mutex);
  return all.free;
}

size_t pretended_bytes() {
  Pages& all = pages();
  const std::lock_guard lock(all.mutex);
  return all.bytes;
}

size_t pretended_peak() {
  Pages& all = pages();
  const std::lock_guard lock(all.mutex);
  return std::exchange(all.peak, all.bytes);
}
