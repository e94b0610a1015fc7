// Eigenvalues and eigenvectors of a symmetric tridiagonal matrix.
#pragma once

#include <cstddef>
#include <vector>

namespace quench::curvature {

struct TridiagonalEigen {
  std::vector<double> values;                // descending
  std::vector<std::vector<double>> vectors;  // in the order of values, each of unit length
};

// diagonal [m], below [m-1]. Uses QL steps with implicit shifts (Golub and Van Loan, section 8.3).
// Throws NUMERICAL for values that are not finite.
TridiagonalEigen tridiagonal_eigen(std::vector<double> diagonal, std::vector<double> below);

}  // namespace quench::curvature
