// noise's kernel on a GPU, as functions of kernels.so (shared/cuda/entries.h).
#pragma once

#include <cstddef>

#include "quantizers/noise/device/add_noise_kernel.hpp"

namespace quench::quantizers {

// Runs the kernel on device number `device`, in whose memory all its pointers are. Returns when the
// results are there: 0, or 1 with the reason in `why`.
template <typename T>
using AddNoiseOnDevice = int(const AddNoise<T>* kernel, int device, char* why, size_t why_bytes);

inline constexpr const char* kAddNoiseFloat = "quench_cuda_add_noise_float";
inline constexpr const char* kAddNoiseDouble = "quench_cuda_add_noise_double";

}  // namespace quench::quantizers
