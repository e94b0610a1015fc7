// Memory of a GPU, as kernels.so hands it out.
#pragma once

#include <cstddef>
#include <filesystem>

#include "shared/cuda/library.hpp"

namespace quench::cuda {

// Copies between memory of the device and of the host, in any direction; returns when the bytes
// have arrived. Throws INTERNAL with the reason.
void copy_bytes(int device, void* to, const void* from, size_t bytes,
                const std::filesystem::path& kernels = kernels_file());

// Page-locks memory of the host for copies to and from devices; of what cannot be written in this
// process, `read_only`. Throws RESOURCE_EXHAUSTED with the reason.
void pin(int device, void* memory, size_t bytes, bool read_only,
         const std::filesystem::path& kernels = kernels_file());
// What was pinned from `memory` on.
void unpin(int device, void* memory, const std::filesystem::path& kernels = kernels_file());

class DeviceMemory {
 public:
  // Zeroed. Throws RESOURCE_EXHAUSTED with the bytes that were wanted and the runtime's reason, and
  // what kernel_function throws.
  DeviceMemory(int device, size_t bytes, const std::filesystem::path& kernels = kernels_file());
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* get() const { return memory_; }
  size_t size() const { return bytes_; }

 private:
  int device_;
  size_t bytes_;
  void (*release_)(int device, void* memory);
  void* memory_ = nullptr;
};

}  // namespace quench::cuda
