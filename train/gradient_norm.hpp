// The L2 norm of a gradient.
#pragma once

#include <cstdint>
#include <span>

namespace quench {

// √Σ g², summed in float64 over fixed chunks, so it does not depend on the number of threads.
double gradient_norm(std::span<const float> gradient, uint32_t threads);

}  // namespace quench
