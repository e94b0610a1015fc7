// The kernels of decoder families on a GPU, as functions of kernels.so (shared/cuda/entries.h).
#pragma once

#include <cstddef>

#include "models/decoder/device/loss_rows.hpp"
#include "models/decoder/device/rotate_elements.hpp"

namespace quench::decoder {

// Starts the kernel on device number `device`, in whose memory all its pointers are, after all that
// libtorch has started there: 0, or 1 with the reason in `why`.
template <typename T, typename A>
using RotateOnDevice = int(const cuda::ForEach<RotateElements<T, A>>* kernel, int device, char* why,
                           size_t why_bytes);

inline constexpr const char* kLossRows = "quench_cuda_loss_rows";  // of LossRows, likewise
inline constexpr const char* kRotateDouble = "quench_cuda_rotate_double";
inline constexpr const char* kRotateFloat = "quench_cuda_rotate_float";
inline constexpr const char* kRotateBfloat16 = "quench_cuda_rotate_bfloat16";
inline constexpr const char* kRotateBfloat16ByFloat = "quench_cuda_rotate_bfloat16_by_float";

}  // namespace quench::decoder
