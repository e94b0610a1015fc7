// The norm of a gradient, and its clipping.
#pragma once

#include <cstdint>
#include <span>

namespace quench {

// A gradient is summed in chunks of this many elements, for any number of threads.
inline constexpr uint64_t kGradientChunk = uint64_t{1} << 16;

// Σ g² of one chunk, in float64.
double sum_of_squares(std::span<const float> chunk);

// The square root of the chunks' sums, added in their order.
double norm_of_sums(std::span<const double> sums);

// The factor that limits a gradient of this norm to `limit`, as in torch.nn.utils; 1 if `limit` is
// 0.
double clip_factor(double norm, double limit);

}  // namespace quench
