// Kernels of optimizers, as functions of kernels.so (shared/cuda/entries.h).
#pragma once

#include <cstddef>

#include "optimizers/device/chunk_squares_kernel.hpp"
#include "optimizers/device/elements.hpp"
#include "optimizers/device/round_groups_kernel.hpp"
#include "shared/cuda/for_each.hpp"

namespace quench::optimizers {

// The name of the function for a rule, as a kernel for each element. Like the other ones it starts
// the kernel on device number `device`, in whose memory all pointers of `kernel` are, and does not
// wait for it: 0, or 1 with the reason in `why`.
//
//   int function(const cuda::ForEach<Rule>* kernel, int device, char* why, size_t why_bytes)
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
template <>
inline constexpr const char* kUpdate<MovedElements> = "quench_cuda_moved";
template <>
inline constexpr const char* kUpdate<PenalizedElements> = "quench_cuda_penalized";

inline constexpr const char* kChunkSquares = "quench_cuda_chunk_squares";
inline constexpr const char* kRoundGroups = "quench_cuda_round_groups";

}  // namespace quench::optimizers
