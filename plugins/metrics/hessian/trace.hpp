// Stochastic estimates of traces.
#pragma once

#include <string>
#include <vector>

#include "metrics/curvature/eigenvalues.hpp"
#include "metrics/curvature/parts.hpp"

namespace quench::hessian {

struct Trace {
  double mean;
  double standard_error;  // NaN for a single sample
};

// tr(A) = E[vᵀ A v] over vectors v of random signs (Hutchinson 1990). The same products give the
// trace of A's block for each part: [0] is the whole, then the parts. All vectors lie in `space`.
template <typename T>
std::vector<Trace> traces(const curvature::Operator<T>& a, uint64_t size,
                          const std::vector<curvature::Part>& parts, uint64_t samples,
                          const std::string& stream, metrics::Space<T>& space);

}  // namespace quench::hessian
