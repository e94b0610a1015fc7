// The largest eigenvalues of a symmetric operator that is known by its products alone.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace quench::curvature {

// out = A v, both as long as the operator is wide.
template <typename T>
using Operator = std::function<void(std::span<const T> v, std::span<T> out)>;

struct Eigenvalues {
  std::vector<double> values;
  std::vector<double> residuals;  // |A y - value y| of unit y, from a product of its own
  uint64_t products = 0;          // all of them
  bool converged = false;
};

// Where vectors live: nonzero in [first, end) alone. The operator is then the block of A there.
struct Range {
  uint64_t first;
  uint64_t end;
};

// The `count` algebraically largest by Lanczos (1950) with full reorthogonalization: every new
// vector is made orthogonal to all earlier ones twice (Parlett 1998, section 6.9). Ends when the
// estimated residuals are below tolerance * the largest eigenvalue in magnitude, or after
// `max_steps` products; then one product an eigenvalue for its residual and its Rayleigh quotient.
// Keeps one vector of the range's length a step.
template <typename T>
Eigenvalues lanczos(const Operator<T>& a, uint64_t size, Range range, size_t count,
                    double tolerance, size_t max_steps, const std::string& stream);

// The `count` largest in magnitude by power iteration with deflation, one after the other: at most
// `max_iterations` products each, until the Rayleigh quotient changes by less than tolerance of
// itself (Yao et al. 2020, arXiv 1912.07145).
template <typename T>
Eigenvalues power_iteration(const Operator<T>& a, uint64_t size, size_t count, double tolerance,
                            size_t max_iterations, const std::string& stream);

// Nodes and weights of stochastic Lanczos quadrature (Golub and Welsch 1969; Ghorbani et al. 2019,
// arXiv 1901.10159) for one starting vector: the density is Σ weight_i δ(value_i).
struct Quadrature {
  std::vector<double> nodes;  // descending
  std::vector<double> weights;
};
template <typename T>
Quadrature quadrature(const Operator<T>& a, uint64_t size, size_t steps, const std::string& stream);

}  // namespace quench::curvature
