// Sums of squares on a GPU, as functions of kernels.so (shared/cuda/entries.h).
#pragma once

#include <cstddef>

#include "quantizers/gram/squares_kernel.hpp"

namespace quench::quantizers {

// Runs the kernel on device number `device`, in whose memory all its pointers are. Returns when the
// results are there: 0, or 1 with the reason in `why`.
template <typename T>
using ColumnSquaresOnDevice = int(const ColumnSquares<T>* kernel, int device, char* why,
                                  size_t why_bytes);

inline constexpr const char* kColumnSquaresFloat = "quench_cuda_column_squares_float";
inline constexpr const char* kColumnSquaresDouble = "quench_cuda_column_squares_double";

}  // namespace quench::quantizers
