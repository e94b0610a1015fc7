// Quantiles of Student's t distribution.
#pragma once

#include <cstddef>

namespace quench {

// The t for which `confidence` of the distribution is between −t and t, for a mean of `n` values (n
// − 1 degrees of freedom). Throws Error(INVALID_ARGUMENT) unless n >= 2 and 0 < confidence < 1.
double t_quantile(size_t n, double confidence);
// The same for a number of degrees of freedom, which need not be whole. Throws
// Error(INVALID_ARGUMENT) unless it is above 0.
double t_quantile_of(double degrees_of_freedom, double confidence);

// How many standard errors a true effect must have so that a two-sided t test at 1 − `confidence`
// finds it, with its sign, with probability `power`: a quantile of the noncentral t distribution.
double detectable_errors(double degrees_of_freedom, double confidence, double power);

}  // namespace quench
