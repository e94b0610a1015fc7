// The largest eigenvalues of a symmetric operator that is only known through its products. All
// vectors lie in the space that is given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/curvature/krylov.hpp"

namespace quench::curvature {

struct Eigenvalues {
  std::vector<double> values;
  std::vector<double> residuals;  // |A y - value y| for unit y, from a separate product
  uint64_t products = 0;          // number of all products
  uint64_t restarts = 0;
  bool converged = false;
};

struct LanczosLimits {
  double tolerance;  // of the residual, relative to the largest eigenvalue in magnitude
  uint64_t products;
  size_t vectors;  // vectors kept at once, at least count + 3
};

// The `count` algebraically largest eigenvalues by Lanczos. Stops when the estimated residuals are
// below the tolerance or the allowed products are spent. One more product per eigenvalue then gives
// its residual and Rayleigh quotient. If `vectors` is at least the number of products, it never
// restarts.
template <typename T>
Eigenvalues lanczos(const Operator<T>& a, uint64_t size, std::span<const Range> ranges,
                    size_t count, const LanczosLimits& limits, const std::string& stream,
                    Space<T>& space = metrics::host_space<T>());

// The `count` algebraically largest eigenvalues by power iteration with deflation, one after the
// other. Each takes at most `max_iterations` products and stops when its Rayleigh quotient changes
// by less than `tolerance` relative to itself (Yao et al. 2020, arXiv 1912.07145, who take the
// largest in magnitude). A negative one that is larger in magnitude than what is left takes as many
// again, once: it is the amount by which all are then shifted, and is not among the answers.
template <typename T>
Eigenvalues power_iteration(const Operator<T>& a, uint64_t size, size_t count, double tolerance,
                            size_t max_iterations, const std::string& stream,
                            Space<T>& space = metrics::host_space<T>());

// Nodes and weights of stochastic Lanczos quadrature (Golub and Welsch 1969; Ghorbani et al. 2019,
// arXiv 1901.10159) from one starting vector: the density is Σ weight_i δ(value_i). With fewer
// vectors than steps an eigenvalue may appear several times with its weight split among the copies,
// which leaves the density the same (Greenbaum 1989, Linear Algebra Appl. 113). The density is that
// of A's diagonal block in the ranges.
struct Quadrature {
  std::vector<double> nodes;  // descending
  std::vector<double> weights;
};
template <typename T>
Quadrature quadrature(const Operator<T>& a, uint64_t size, std::span<const Range> ranges,
                      size_t steps, size_t vectors, const std::string& stream,
                      Space<T>& space = metrics::host_space<T>());

}  // namespace quench::curvature
