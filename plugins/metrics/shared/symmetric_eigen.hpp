// Eigenvalues and eigenvectors of small symmetric matrices.
#pragma once

#include <cstddef>
#include <vector>

namespace quench::metrics {

struct Eigen {
  std::vector<double> values;   // [n], largest first
  std::vector<double> vectors;  // [n,n]: row k is the unit eigenvector of values[k]
};

// For a symmetric matrix [n,n] with both triangles filled, by cyclic Jacobi rotations (Golub and
// Van Loan 2013, algorithm 8.5.3). Absolute errors are about n times the unit roundoff of the
// largest eigenvalue. O(n^3) per sweep, for n up to a few hundred.
Eigen symmetric_eigen(std::vector<double> matrix, size_t n);

}  // namespace quench::metrics
