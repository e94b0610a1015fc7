/* What the sources of kernels.so ask of the CUDA runtime, for a GPU that is none: its memory is
 * that of pretended_device/memory.h, and kernels run as loops. With it a compiler for processors
 * makes kernels.so of the very sources that nvcc gets. */
#pragma once

#include <cstddef>
#include <cstring>

#include "shared/cuda/block.hpp"
#include "tests/support/pretended_device/memory.h"
#include "tests/support/pretended_device/recording.hpp"

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidDevice = 101,
  cudaErrorHostMemoryAlreadyRegistered = 712,
  cudaErrorHostMemoryNotRegistered = 713,
  cudaErrorStreamCaptureUnsupported = 900
};
using cudaStream_t = void*;
inline constexpr unsigned cudaHostRegisterPortable = 1;
inline constexpr unsigned cudaHostRegisterReadOnly = 8;
enum cudaMemcpyKind { cudaMemcpyDefault };

inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorInvalidDevice      ? "invalid device ordinal"
         : error == cudaErrorMemoryAllocation ? "out of memory"
         : error == cudaErrorStreamCaptureUnsupported
             ? "operation not permitted when stream is capturing"
             : "host memory is registered, or not";
}
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
inline cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() {
  pretended_count("wait: cudaDeviceSynchronize");
  return quench::test::is_recording() ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}
inline cudaError_t cudaMalloc(void** memory, size_t bytes) {
  *memory = pretended_allocate(bytes);
  return *memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t cudaFree(void* memory) {
  pretended_release(memory);
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  std::memset(pretended_inside(to), value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  if (quench::test::is_recording()) {
    return cudaErrorStreamCaptureUnsupported;
  }
  pretended_copies(to, bytes);
  pretended_copies(from, bytes);
  pretended_count(pretended_inside(to) == to ? "wait: cudaMemcpy to the host" : "cudaMemcpy");
  if (bytes > 0) {
    std::memmove(pretended_inside(to), pretended_inside(from), bytes);
  }
  return cudaSuccess;
}
inline cudaError_t cudaHostRegister(void* memory, size_t bytes, unsigned) {
  return pretended_pin(memory, bytes) != 0 ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
}
inline cudaError_t cudaHostUnregister(void* memory) {
  return pretended_unpin(memory) != 0 ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
}

namespace quench::cuda {

// Last thread first: a kernel whose threads disturb each other then gives other bits than the
// processor's loops do.
template <typename Kernel>
void launch_on_stand_in(const Kernel& kernel, int64_t blocks) {
  pretended_count("kernel");
  test::tell([kernel, blocks] {
    const test::OnPretendedDevice device;
    run_on_host(kernel, blocks, Order::kLastToFirst);
  });
}

}  // namespace quench::cuda
