// Traces by random vectors.
#pragma once

#include <string>
#include <vector>

#include "metrics/curvature/eigenvalues.hpp"
#include "metrics/curvature/parts.hpp"

namespace quench::hessian {

struct Trace {
  double mean;
  double standard_error;  // NaN of a single sample
};

// tr(A) = E[vᵀ A v] over random signs v (Hutchinson 1990), and the trace of A's block of each part
// from the same products: [0] is the whole, then the parts.
template <typename T>
std::vector<Trace> traces(const curvature::Operator<T>& a, uint64_t size,
                          const std::vector<curvature::Part>& parts, uint64_t samples,
                          const std::string& stream);

}  // namespace quench::hessian
