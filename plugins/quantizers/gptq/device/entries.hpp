// The column loop on a GPU, as functions of kernels.so (shared/cuda/entries.h).
#pragma once

#include <cstddef>

#include "quantizers/gptq/device/column_loop.hpp"
#include "quantizers/number_format/format_numbers.hpp"

namespace quench::quantizers {

// Runs the loop on device number `device`, in whose memory all pointers of `loop` are. Returns when
// the results are there: 0, or 1 with the reason in `why`.
template <typename From, typename T, typename Numbers>
using RunColumnsOnDevice = int(const ColumnLoop<From, T, Numbers>* loop, int device, char* why,
                               size_t why_bytes);

inline constexpr const char* kColumnsFloatFloat = "quench_cuda_columns_float_float";
inline constexpr const char* kColumnsFloatDouble = "quench_cuda_columns_float_double";
inline constexpr const char* kColumnsDoubleDouble = "quench_cuda_columns_double_double";
inline constexpr const char* kColumnsToFormatFloatFloat =
    "quench_cuda_columns_to_format_float_float";
inline constexpr const char* kColumnsToFormatFloatDouble =
    "quench_cuda_columns_to_format_float_double";
inline constexpr const char* kColumnsToFormatDoubleDouble =
    "quench_cuda_columns_to_format_double_double";

}  // namespace quench::quantizers
