// Host memory for tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace quench {

// Bytes above what a process needs at its peak that are kept all the same (BlockCache).
inline constexpr size_t kTensorMemorySlack = size_t{128} << 20;

// `bytes` of memory, not cleared, 64-byte aligned; nullptr when there is none left. Blocks of 2 MiB
// and more lie on huge pages (of 4 KiB pages the fault costs more than the clearing) and some are
// kept when they are released (core/io/block_cache.hpp). [thread-safe]
void* allocate_tensor_memory(size_t bytes);
// Takes it back; nullptr is allowed. [thread-safe]
void release_tensor_memory(void* memory);

// The same for a container.
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

// Settings of the heap, where everything else lies, before other threads run: blocks of 4 MiB and
// more go back to the system when they are freed (glibc would keep blocks of up to 32 MiB, so that
// a pass over a model held half a gigabyte that nobody used); of smaller ones 32 MiB stay at its
// end (glibc would keep 128 KiB, so that a small model faulted its activations in again for every
// batch). What the user's environment says is left alone.
void tune_allocators();

}  // namespace quench
