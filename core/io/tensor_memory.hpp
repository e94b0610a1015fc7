// Host memory for tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace quench {

// `bytes` of memory, not cleared, 64-byte aligned; nullptr when there is none left. Large blocks
// ask for huge pages: the kernel clears a page at its first touch, and for 4 KiB pages the fault
// costs more than the clearing. To be given back by std::free. [thread-safe]
void* allocate_tensor_memory(size_t bytes);

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
  void deallocate(T* memory, size_t) { std::free(memory); }
  bool operator==(const TensorAllocator&) const = default;
};

// Settings of the allocators below the libraries that plugins bring, before any of them is loaded:
// blocks of 4 MiB and more go back to the system when they are freed (glibc would keep blocks of up
// to 32 MiB, so that a pass over a model held half a gigabyte that nobody used); of smaller ones
// 32 MiB stay at the end of the heap (glibc would keep 128 KiB, so that a small model faulted its
// activations in again for every batch); and libtorch's own tensors lie on huge pages too. What the
// user's environment says is left alone.
void tune_allocators();

}  // namespace quench
