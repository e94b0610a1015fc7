/* What the sources of kernels.so ask of the CUDA runtime, for a GPU that is none: its memory is
 * that of pretended_device/memory.h, and kernels run as loops. With it a compiler for processors
 * makes kernels.so of the very sources that nvcc gets. */
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

#include "shared/cuda/block.hpp"
#include "tests/support/pretended_device/memory.h"
#include "tests/support/pretended_device/recording.hpp"

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidDevice = 101,
  cudaErrorHostMemoryAlreadyRegistered = 712,
  cudaErrorHostMemoryNotRegistered = 713,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901
};
using cudaStream_t = void*;
using cudaGraph_t = quench::test::Told*;
using cudaGraphExec_t = quench::test::Told*;
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };
inline constexpr unsigned cudaHostRegisterPortable = 1;
inline constexpr unsigned cudaHostRegisterReadOnly = 8;
enum cudaMemcpyKind { cudaMemcpyDefault };

inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorInvalidDevice      ? "invalid device ordinal"
         : error == cudaErrorMemoryAllocation ? "out of memory"
         : error == cudaErrorStreamCaptureInvalidated
             ? "operation failed due to a previous error during capture"
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
inline bool refused_while_recording() {
  quench::test::spoil_recording();
  return quench::test::is_recording();
}
inline cudaError_t cudaDeviceSynchronize() {
  pretended_count("wait: cudaDeviceSynchronize");
  return refused_while_recording() ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
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
  if (refused_while_recording()) {
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
inline cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return stream != nullptr && quench::test::begin_recording() ? cudaSuccess
                                                              : cudaErrorStreamCaptureUnsupported;
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  auto told = quench::test::end_recording();
  *graph = told ? new quench::test::Told(*std::move(told)) : nullptr;
  return told ? cudaSuccess : cudaErrorStreamCaptureInvalidated;
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned) {
  pretended_count("a recording");
  *made = new quench::test::Told(*graph);
  return cudaSuccess;
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t work, cudaStream_t) {
  pretended_count("a recording told again");
  for (const auto& one : *work) {
    one();
  }
  return cudaSuccess;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t work) {
  delete work;
  return cudaSuccess;
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
