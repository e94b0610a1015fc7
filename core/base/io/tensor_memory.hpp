// Host memory for tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace quench {

// How many bytes the cache may keep above the process's highest use (BlockCache).
inline constexpr size_t kTensorMemorySlack = size_t{128} << 20;

// Returns `bytes` of memory, not cleared, aligned to 64 bytes; nullptr if there is none left.
// Blocks of 2 MiB and more use huge pages (a fault on a 4 KiB page costs more than clearing it),
// and some stay cached after release (core/base/io/block_cache.hpp). [thread-safe]
void* allocate_tensor_memory(size_t bytes);
// Releases the memory; accepts nullptr. [thread-safe]
void release_tensor_memory(void* memory);

// The same memory for a standard container.
template <typename T>
struct TensorAllocator {
  using value_type = T;
  T* allocate(size_t count) {
    void* memory =
        count > SIZE_MAX / sizeof(T) ? nullptr : allocate_tensor_memory(count * sizeof(T));
    if (memory == nullptr) {
      throw std::bad_alloc();
    }
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) { release_tensor_memory(memory); }
  bool operator==(const TensorAllocator&) const = default;
};

// Sets up the heap, which holds everything else; call it before other threads run. Blocks of 4 MiB
// and more return to the system when they are freed: glibc would keep blocks of up to 32 MiB, and a
// pass over a model would hold half a gigabyte of unused memory. Of smaller blocks, 32 MiB stay at
// the end of the heap: glibc would keep 128 KiB, and a small model would fault its activations in
// again for every batch. Respects what the user's environment sets.
void tune_allocators();

}  // namespace quench
