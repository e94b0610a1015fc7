// hqq's kernel on a GPU, as functions of kernels.so (shared/cuda/entries.h).
#pragma once

#include <cstddef>

#include "quantizers/hqq/device/solve_rows_kernel.hpp"

namespace quench::quantizers {

// Runs the kernel on device number `device`, in whose memory all its pointers are. Returns when the
// results are there: 0, or 1 with the reason in `why`.
template <typename T>
using SolveRowsOnDevice = int(const SolveRows<T>* kernel, int device, char* why, size_t why_bytes);

inline constexpr const char* kSolveRowsFloat = "quench_cuda_solve_rows_float";
inline constexpr const char* kSolveRowsDouble = "quench_cuda_solve_rows_double";

}  // namespace quench::quantizers
