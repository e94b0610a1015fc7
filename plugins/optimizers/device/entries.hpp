// Updates on a GPU, as functions of kernels.so (shared/cuda/entries.h).
#pragma once

#include <cstddef>

#include "optimizers/device/elements.hpp"
#include "shared/cuda/for_each.hpp"

namespace quench::optimizers {

// Updates the tensor on device number `device`, in whose memory all pointers of `kernel` are.
// Returns when the results are there: 0, or 1 with the reason in `why`.
template <typename Rule>
using UpdateOnDevice = int(const cuda::ForEach<Rule>* kernel, int device, char* why,
                           size_t why_bytes);

// The name of the function for a rule.
template <typename Rule>
inline constexpr const char* kUpdate = nullptr;
template <>
inline constexpr const char* kUpdate<AdamWElements> = "quench_cuda_adamw";
template <>
inline constexpr const char* kUpdate<SgdElements> = "quench_cuda_sgd";
template <>
inline constexpr const char* kUpdate<MomentumElements> = "quench_cuda_momentum";
template <>
inline constexpr const char* kUpdate<DirectionElements> = "quench_cuda_direction";
template <>
inline constexpr const char* kUpdate<ScheduleFreeElements> = "quench_cuda_schedule_free";
template <>
inline constexpr const char* kUpdate<ScheduleFreeAverageElements> =
    "quench_cuda_schedule_free_average";

}  // namespace quench::optimizers
