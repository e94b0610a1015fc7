// The norm of a gradient, and what clipping makes of it.
#pragma once

#include <cstdint>
#include <span>

namespace quench {

// A gradient is summed in chunks of this many elements, whatever the number of threads.
inline constexpr uint64_t kGradientChunk = uint64_t{1} << 16;

// Σ g² of one chunk, in float64.
double sum_of_squares(std::span<const float> chunk);

// √ of the chunks' sums, added in their order.
double norm_of_sums(std::span<const double> sums);

// The factor that makes a gradient of this norm at most `limit` long, as torch.nn.utils has it; 1
// where `limit` is 0.
double clip_factor(double norm, double limit);

}  // namespace quench
