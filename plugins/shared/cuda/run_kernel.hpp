// Runs a kernel of block.hpp where its memory is.
#pragma once

#include <c10/core/Device.h>

#include "shared/cuda/block.hpp"
#include "shared/cuda/library.hpp"

namespace quench::cuda {

// In host memory as loops, on a GPU where there is kernels.so.
inline bool runs_kernels(at::Device device) {
  static const bool there = has_kernels();
  return device.is_cpu() || there;
}

// All pointers of `kernel` are to the memory of `device`: on a GPU the function `entry` of
// kernels.so starts it, after all that libtorch has started there; in host memory it is loops.
// Returns when the results are there.
template <typename Kernel>
void run_kernel(const char* entry, const Kernel& kernel, at::Device device) {
  if (device.is_cpu()) {
    run_on_host(kernel, kernel.blocks());
  } else {
    run_on_gpu(entry, kernel, device.index());
  }
}

}  // namespace quench::cuda
