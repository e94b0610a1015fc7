// A Krylov space of a symmetric operator, and the operator's small matrix in that space.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "metrics/curvature/basis.hpp"
#include "metrics/curvature/parts.hpp"

namespace quench::curvature {

// out = A v. Both have the dimension of A and lie in the caller's space.
template <typename T>
using Operator = std::function<void(std::span<const T> v, std::span<T> out)>;

// Eigenvalues of the small matrix, descending, and its eigenvectors as coefficients of the basis.
struct Ritz {
  std::vector<double> values;
  std::vector<std::vector<double>> vectors;
};

// Vectors are nonzero only in the ranges, and hold these alone; the operator is then that diagonal
// block of A. Lanczos (1950) from a normal vector that is drawn from `stream`. Each new vector is
// made orthogonal to all kept ones, twice (Parlett 1998, section 6.9). Keeps at most `vectors`
// vectors of the ranges' length; the work space is two of the operator's dimension and one of the
// ranges' length. A full space continues in one of two ways: it restarts with the wanted Ritz
// vectors and the last direction (Wu and Simon 2000, SIAM J. Matrix Anal. Appl. 22), or it drops
// the oldest vector.
template <typename T>
class Krylov {
 public:
  Krylov(const Operator<T>& a, uint64_t size, std::span<const Range> ranges,
         const std::string& stream, size_t vectors, Space<T>& space);

  // Adds one vector by one product. False if the space is exhausted. Must not be called when full.
  bool step();
  bool is_full() const { return basis_.size() == vectors_; }
  // Restarts and keeps the first `kept` Ritz vectors, fewer than all.
  void restart(const Ritz& ritz, size_t kept);
  void forget_oldest();

  // The Ritz pairs. The small matrix has the size of the basis or, if vectors were dropped, the
  // number of steps.
  Ritz ritz() const;
  size_t steps() const { return diagonal_.size(); }
  // The norm of the next vector before it is normalized. |A y - value y| of a Ritz pair is this
  // norm times the last coefficient of y.
  double rest() const { return beta_; }

  // out = (the block of A in the ranges) · v.
  void multiply(std::span<const T> v, std::span<T> out);
  Vector<T> combination(std::span<const double> coefficients) const {
    return basis_.combination(coefficients);
  }
  uint64_t products() const { return products_; }

 private:
  const Operator<T>& a_;
  std::vector<Range> ranges_;
  size_t vectors_;
  Space<T>& space_;
  Vector<T> whole_;
  Vector<T> product_;
  Vector<T> next_;
  Basis<T> basis_;
  double beta_ = 0;
  double scale_ = 0;
  uint64_t products_ = 0;
  // The small matrix: its diagonal, its subdiagonal, and after a restart the couplings of the kept
  // vectors to the vector that follows them.
  std::vector<double> diagonal_;
  std::vector<double> below_;
  std::vector<double> arrow_;
};

}  // namespace quench::curvature
