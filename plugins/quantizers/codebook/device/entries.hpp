// The 4-bit types' kernel on a GPU, as functions of kernels.so (shared/cuda/entries.h).
#pragma once

#include <cstddef>

#include "quantizers/codebook/device/code_blocks_kernel.hpp"

namespace quench::quantizers {

// Runs the kernel on device number `device`, in whose memory all its pointers are. Returns when the
// results are there: 0, or 1 with the reason in `why`.
template <typename T>
using CodeBlocksOnDevice = int(const CodeBlocks<T>* kernel, int device, char* why,
                               size_t why_bytes);

inline constexpr const char* kCodeBlocksFloat = "quench_cuda_code_blocks_float";
inline constexpr const char* kCodeBlocksDouble = "quench_cuda_code_blocks_double";

}  // namespace quench::quantizers
