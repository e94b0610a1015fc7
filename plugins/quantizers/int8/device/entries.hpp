// int8's kernels on a GPU, as functions of kernels.so (shared/cuda/entries.h).
#pragma once

#include <cstddef>

#include "quantizers/int8/device/row_kernels.hpp"

namespace quench::quantizers {

// Runs a kernel on device number `device`, in whose memory all its pointers are. Returns when the
// results are there: 0, or 1 with the reason in `why`.
template <typename Kernel>
using RunInt8OnDevice = int(const Kernel* kernel, int device, char* why, size_t why_bytes);

inline constexpr const char* kInt8CodeRows = "quench_cuda_int8_code_rows";
inline constexpr const char* kInt8SumsToFloat = "quench_cuda_int8_sums_to_float";
inline constexpr const char* kInt8SumsToDouble = "quench_cuda_int8_sums_to_double";

}  // namespace quench::quantizers
