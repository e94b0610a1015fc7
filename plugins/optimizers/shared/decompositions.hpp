// Orthogonal bases of square float64 matrices, in one order of sums for any number of threads,
// which libtorch's (LAPACK, often MKL's) does not promise.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace quench::optimizers {

// Columns are contiguous: column j of a [n, n] matrix is at [j·n .. j·n + n).
using Columns = std::vector<double>;

// Q of Q·R = `matrix`, by Householder reflections (Golub and Van Loan 2013, algorithm 5.2.1):
// columns are orthonormal whatever the rank. Signs are LAPACK's. Columns are reflected by the tasks
// of the host.
Columns orthogonal_factor(Columns matrix, size_t n);

struct EigenDecomposition {
  std::vector<double> values;
  Columns vectors;
};

// Eigenvalues, largest first, and unit eigenvectors of a symmetric matrix, by tridiagonalization
// and implicit QL (EISPACK's tred2 and tql2). Throws NUMERICAL for a matrix with a value that is
// not finite.
EigenDecomposition eigen_decomposition(Columns symmetric, size_t n);

inline Columns eigenvectors(Columns symmetric, size_t n) {
  return eigen_decomposition(std::move(symmetric), n).vectors;
}

}  // namespace quench::optimizers
