#include "shared/cuda/device_memory.hpp"

#include "shared/cuda/entries.h"

namespace quench::cuda {

void copy_bytes(int device, void* to, const void* from, size_t bytes,
                const std::filesystem::path& kernels) {
  char why[256] = {};
  auto* copy = entry<decltype(quench_cuda_copy)>(kernels, "quench_cuda_copy");
  if (copy(device, to, from, bytes, why, sizeof why) != 0) {
    kit::fail(QUENCH_INTERNAL, "device cuda:%d: %s", device, why);
  }
}

void pin(int device, void* memory, size_t bytes, bool read_only,
         const std::filesystem::path& kernels) {
  char why[256] = {};
  auto* pin = entry<decltype(quench_cuda_pin)>(kernels, "quench_cuda_pin");
  if (pin(device, memory, bytes, read_only ? 1 : 0, why, sizeof why) != 0) {
    kit::fail(QUENCH_RESOURCE_EXHAUSTED, "device cuda:%d: %s", device, why);
  }
}

void unpin(int device, void* memory, const std::filesystem::path& kernels) {
  entry<decltype(quench_cuda_unpin)>(kernels, "quench_cuda_unpin")(device, memory);
}

DeviceMemory::DeviceMemory(int device, size_t bytes, const std::filesystem::path& kernels)
    : device_(device),
      bytes_(bytes),
      release_(entry<decltype(quench_cuda_release)>(kernels, "quench_cuda_release")) {
  char why[256] = {};
  auto* allocate = entry<decltype(quench_cuda_allocate)>(kernels, "quench_cuda_allocate");
  if (allocate(device_, bytes_, &memory_, why, sizeof why) != 0) {
    kit::fail(QUENCH_RESOURCE_EXHAUSTED, "device cuda:%d: %zu bytes: %s", device_, bytes_, why);
  }
}

DeviceMemory::~DeviceMemory() {
  release_(device_, memory_);
}

}  // namespace quench::cuda
