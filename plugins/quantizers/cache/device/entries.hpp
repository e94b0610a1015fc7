// Rounding of keys and values on a GPU, as functions of kernels.so (shared/cuda/entries.h).
#pragma once

#include <cstddef>

#include "quantizers/cache/device/round_cached.hpp"

namespace quench::quantizers {

// Starts the kernel on device number `device`, in whose memory all its pointers are, after all that
// libtorch has started there: 0, or 1 with the reason in `why`.
template <typename T>
using RoundCachedOnDevice = int(const cuda::ForEach<RoundCached<T>>* kernel, int device, char* why,
                                size_t why_bytes);

inline constexpr const char* kRoundCachedFloat = "quench_cuda_round_cached_float";
inline constexpr const char* kRoundCachedDouble = "quench_cuda_round_cached_double";

}  // namespace quench::quantizers
