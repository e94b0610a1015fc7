// Quantiles of Student's t distribution.
#pragma once

#include <cstddef>

namespace quench {

// The t for which `confidence` of the distribution is between −t and t, for a mean of `n` values (n
// − 1 degrees of freedom). Throws Error(INVALID_ARGUMENT) unless n >= 2 and 0 < confidence < 1.
double t_quantile(size_t n, double confidence);

}  // namespace quench
