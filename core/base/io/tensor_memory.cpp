#include "core/base/io/tensor_memory.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "core/base/io/block_cache.hpp"

namespace quench {

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kKept = 4 * kTensorMemorySlack;
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCaches = false;  // every block has its own guards, and no block is reused
#else
constexpr bool kCaches = true;
#endif

BlockCache& large_blocks() {
  static auto* cache = new BlockCache(kKept, kTensorMemorySlack);  // outlives static destructors
  return *cache;
}

}  // namespace

void* allocate_tensor_memory(size_t bytes) {
  if (kCaches && bytes >= BlockCache::kHugePage) {
    return large_blocks().allocate(bytes);
  }
  void* memory = nullptr;  // an empty tensor gets an address of its own
  return posix_memalign(&memory, kAlignment, std::max<size_t>(bytes, 1)) == 0 ? memory : nullptr;
}

void release_tensor_memory(void* memory) {
  // Every large block is aligned to a huge page, and hardly any small one is.
  const bool perhaps_large = reinterpret_cast<uintptr_t>(memory) % BlockCache::kHugePage == 0;
  if (!kCaches || !perhaps_large || !large_blocks().release(memory)) {
    std::free(memory);
  }
}

void tune_allocators() {
#ifdef __GLIBC__
  constexpr int kLarge = 4 << 20;       // bytes
  constexpr int kKeptAtEnd = 32 << 20;  // bytes
  if (std::getenv("MALLOC_MMAP_THRESHOLD_") == nullptr) {
    mallopt(M_MMAP_THRESHOLD, kLarge);
  }
  if (std::getenv("MALLOC_TRIM_THRESHOLD_") == nullptr) {
    mallopt(M_TRIM_THRESHOLD, kKeptAtEnd);
  }
#endif
}

}  // namespace quench
