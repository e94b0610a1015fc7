// awq's kernels on a GPU, as functions of kernels.so (shared/cuda/entries.h).
#pragma once

#include <cstddef>

#include "quantizers/awq/device/magnitude_kernels.hpp"
#include "quantizers/awq/device/round_scaled_kernel.hpp"
#include "quantizers/number_format/format_numbers.hpp"

namespace quench::quantizers {

template <typename T>
using RoundScaledToFormat = RoundScaled<T, FormatNumbers>;

// Runs a kernel on device number `device`, in whose memory all its pointers are. Returns when the
// results are there: 0, or 1 with the reason in `why`.
template <typename Kernel>
using RunAwqOnDevice = int(const Kernel* kernel, int device, char* why, size_t why_bytes);

inline constexpr const char* kRoundScaledFloat = "quench_cuda_round_scaled_float";
inline constexpr const char* kRoundScaledDouble = "quench_cuda_round_scaled_double";
inline constexpr const char* kRoundScaledToFormatFloat = "quench_cuda_round_scaled_to_format_float";
inline constexpr const char* kRoundScaledToFormatDouble =
    "quench_cuda_round_scaled_to_format_double";
inline constexpr const char* kAddMagnitudesFloat = "quench_cuda_add_magnitudes_float";
inline constexpr const char* kAddMagnitudesDouble = "quench_cuda_add_magnitudes_double";
inline constexpr const char* kAddRelativeFloat = "quench_cuda_add_relative_magnitudes_float";
inline constexpr const char* kAddRelativeDouble = "quench_cuda_add_relative_magnitudes_double";

}  // namespace quench::quantizers
