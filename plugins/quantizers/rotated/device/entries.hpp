// Products with Hadamard matrices on a GPU, as functions of kernels.so (shared/cuda/entries.h).
#pragma once

#include <cstddef>

#include "quantizers/rotated/device/multiply_rows_kernel.hpp"

namespace quench::quantizers {

// Starts the kernel on device number `device`, in whose memory all its pointers are, after all that
// libtorch has started there: 0, or 1 with the reason in `why`.
template <typename T>
using MultiplyRowsOnDevice = int(const MultiplyRows<T>* kernel, int device, char* why,
                                 size_t why_bytes);

inline constexpr const char* kMultiplyRowsFloat = "quench_cuda_multiply_rows_float";
inline constexpr const char* kMultiplyRowsDouble = "quench_cuda_multiply_rows_double";

}  // namespace quench::quantizers
