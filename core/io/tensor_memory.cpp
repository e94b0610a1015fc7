#include "core/io/tensor_memory.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace quench {

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;  // of x86-64 and of arm64 with 4 KiB pages

}  // namespace

void* allocate_tensor_memory(size_t bytes) {
  if (bytes > SIZE_MAX - kHugePage) {
    return nullptr;
  }
  const bool large = bytes >= 2 * kHugePage;
  void* memory = nullptr;  // an empty tensor gets an address of its own
  if (posix_memalign(&memory, large ? kHugePage : kAlignment, std::max<size_t>(bytes, 1)) != 0) {
    return nullptr;
  }
  if (large) {
    // Whole huge pages only, so that the last one costs no more than it holds. Advice: no failure.
    madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  }
  return memory;
}

void tune_allocators() {
  setenv("THP_MEM_ALLOC_ENABLE", "1", /*overwrite=*/0);
#ifdef __GLIBC__
  constexpr int kKept = 32 << 20;  // bytes
  if (std::getenv("MALLOC_MMAP_THRESHOLD_") == nullptr) {
    mallopt(M_MMAP_THRESHOLD, 2 * static_cast<int>(kHugePage));
  }
  if (std::getenv("MALLOC_TRIM_THRESHOLD_") == nullptr) {
    mallopt(M_TRIM_THRESHOLD, kKept);
  }
#endif
}

}  // namespace quench
