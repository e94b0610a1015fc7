#include "core/wire/copy.hpp"

#include <atomic>
#include <cstring>

namespace quench::wire {

namespace {

void copy_here(void* to, const void* from, uint64_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}

std::atomic<Copy> chosen = copy_here;

}  // namespace

void set_copy(Copy copy) {
  chosen = copy;
}

void copy(void* to, const void* from, uint64_t bytes) {
  if (bytes > 0) {
    chosen.load(std::memory_order_relaxed)(to, from, bytes);
  }
}

}  // namespace quench::wire
