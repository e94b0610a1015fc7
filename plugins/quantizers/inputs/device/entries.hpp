// Rounding of inputs on a GPU, as functions of kernels.so (shared/cuda/entries.h).
#pragma once

#include <cstddef>

#include "quantizers/inputs/device/round_inputs_kernels.hpp"

namespace quench::quantizers {

// Start the kernel on device number `device`, in whose memory all its pointers are, after all that
// libtorch has started there: 0, or 1 with the reason in `why`.
template <typename T>
using InputRangesOnDevice = int(const InputRanges<T>* kernel, int device, char* why,
                                size_t why_bytes);
template <typename T>
using RoundInputsOnDevice = int(const RoundInputs<T>* kernel, int device, char* why,
                                size_t why_bytes);

inline constexpr const char* kInputRangesFloat = "quench_cuda_input_ranges_float";
inline constexpr const char* kInputRangesDouble = "quench_cuda_input_ranges_double";
inline constexpr const char* kRoundInputsFloat = "quench_cuda_round_inputs_float";
inline constexpr const char* kRoundInputsDouble = "quench_cuda_round_inputs_double";

}  // namespace quench::quantizers
