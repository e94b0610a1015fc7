// Rounding to a number format on a GPU, as functions of kernels.so (shared/cuda/entries.h).
#pragma once

#include <cstddef>

#include "quantizers/grid/round_rows_kernel.hpp"
#include "quantizers/number_format/format_numbers.hpp"

namespace quench::quantizers {

template <typename T>
using RoundRowsToFormat = RoundRows<T, FormatNumbers>;

// Runs the kernel on device number `device`, in whose memory all its pointers are. Returns when the
// results are there: 0, or 1 with the reason in `why`.
template <typename T>
using RoundToFormatOnDevice = int(const RoundRowsToFormat<T>* kernel, int device, char* why,
                                  size_t why_bytes);

inline constexpr const char* kRoundToFormatFloat = "quench_cuda_round_to_format_float";
inline constexpr const char* kRoundToFormatDouble = "quench_cuda_round_to_format_double";

}  // namespace quench::quantizers
