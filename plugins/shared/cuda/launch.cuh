// Runs kernels of block.hpp on a GPU, in memory that the caller holds there. For sources that nvcc
// compiles; a test compiles them with a stand-in for the CUDA runtime, which runs kernels as loops.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "shared/cuda/block.hpp"

namespace quench::cuda {

// Throws std::runtime_error.
inline void check(cudaError_t result, const char* what) {
  if (result != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(result));
  }
}

#ifdef __CUDACC__
template <typename Kernel>
__global__ void __launch_bounds__(Kernel::kThreads) enter(Kernel kernel) {
  __shared__ typename Kernel::Shared shared;
  Block block;
  kernel.run(block, shared);
}
#endif

// Where kernels are started: quench_cuda_use_stream.
inline std::atomic<cudaStream_t>& kernel_stream() {
  static std::atomic<cudaStream_t> stream = nullptr;
  return stream;
}

// Starts a kernel; it runs after those that were started before, and nothing waits for it.
struct Launch {
  template <typename Kernel>
  void operator()(const Kernel& kernel) const {
    const int64_t blocks = kernel.blocks();
    if (blocks > 0) {
#ifdef __CUDACC__
      enter<<<static_cast<unsigned>(blocks), Kernel::kThreads, 0, kernel_stream().load()>>>(kernel);
#else
      launch_on_stand_in(kernel, blocks);
#endif
      check(cudaGetLastError(), "a kernel could not be started");
    }
  }
};

// Runs `body` with `device` current, and does not wait for its kernels: what libtorch starts next
// comes after them, and the first caller that waits is told of a failure. 0, or 1 with the reason
// in `why`, cut to `why_bytes`.
template <typename Body>
int started(int device, char* why, size_t why_bytes, const Body& body) {
  try {
    check(cudaSetDevice(device), "no such device");
    body();
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(why, why_bytes, "%s", error.what());
    return 1;
  }
}

// The same, and returns when they have ended.
template <typename Body>
int guarded(int device, char* why, size_t why_bytes, const Body& body) {
  return started(device, why, why_bytes, [&] {
    body();
    check(cudaDeviceSynchronize(), "a kernel failed");
  });
}

}  // namespace quench::cuda
