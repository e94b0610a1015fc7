// The largest eigenvalues of a symmetric operator that is known by its products alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/curvature/krylov.hpp"

namespace quench::curvature {

struct Eigenvalues {
  std::vector<double> values;
  std::vector<double> residuals;  // |A y - value y| of unit y, from a product of its own
  uint64_t products = 0;          // all of them
  uint64_t restarts = 0;
  bool converged = false;
};

struct LanczosLimits {
  double tolerance;  // residual over the largest eigenvalue in magnitude
  uint64_t products;
  size_t vectors;  // that are kept at once, at least count + 3
};

// The `count` algebraically largest by Lanczos. Ends when the estimated residuals are below the
// tolerance, or after the allowed products; then one product an eigenvalue for its residual and its
// Rayleigh quotient. With as many vectors as products there is no restart.
template <typename T>
Eigenvalues lanczos(const Operator<T>& a, uint64_t size, Range range, size_t count,
                    const LanczosLimits& limits, const std::string& stream);

// The `count` largest in magnitude by power iteration with deflation, one after the other: at most
// `max_iterations` products each, until the Rayleigh quotient changes by less than tolerance of
// itself (Yao et al. 2020, arXiv 1912.07145).
template <typename T>
Eigenvalues power_iteration(const Operator<T>& a, uint64_t size, size_t count, double tolerance,
                            size_t max_iterations, const std::string& stream);

// Nodes and weights of stochastic Lanczos quadrature (Golub and Welsch 1969; Ghorbani et al. 2019,
// arXiv 1901.10159) for one starting vector: the density is Σ weight_i δ(value_i). With fewer
// vectors than steps an eigenvalue may appear more than once, its weight parted among the copies:
// the density stays what it is (Greenbaum 1989, Linear Algebra Appl. 113).
struct Quadrature {
  std::vector<double> nodes;  // descending
  std::vector<double> weights;
};
template <typename T>
Quadrature quadrature(const Operator<T>& a, uint64_t size, size_t steps, size_t vectors,
                      const std::string& stream);

}  // namespace quench::curvature
