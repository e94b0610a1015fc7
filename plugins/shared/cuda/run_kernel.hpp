// Runs a kernel of block.hpp where its memory is.
#pragma once

#include <c10/core/Device.h>

#include "shared/cuda/block.hpp"
#include "shared/cuda/library.hpp"

namespace quench::cuda {

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
