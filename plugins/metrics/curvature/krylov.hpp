// A Krylov space of a symmetric operator, and the small matrix that the operator is in it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "metrics/curvature/basis.hpp"

namespace quench::curvature {

// out = A v, both as long as the operator is wide.
template <typename T>
using Operator = std::function<void(std::span<const T> v, std::span<T> out)>;

// Where vectors live: nonzero in [first, end) alone. The operator is then the block of A there.
struct Range {
  uint64_t first;
  uint64_t end;
};

// Eigenvalues of the small matrix, descending, and its eigenvectors: coefficients of the basis.
struct Ritz {
  std::vector<double> values;
  std::vector<std::vector<double>> vectors;
};

// Lanczos (1950) from a normal vector drawn out of `stream`. Every new vector is made orthogonal to
// all that are kept, twice (Parlett 1998, section 6.9). At most `vectors` of the range's length are
// kept, beside two of the operator's width and one of the range's length for work. A full space
// goes on in one of two ways: restarted, with the Ritz vectors that are wanted and the last
// direction (Wu and Simon 2000, SIAM J. Matrix Anal. Appl. 22), or by forgetting the oldest vector.
template <typename T>
class Krylov {
 public:
  Krylov(const Operator<T>& a, uint64_t size, Range range, const std::string& stream,
         size_t vectors);

  // One more vector and one product; false when the space is exhausted. Not of a full space.
  bool step();
  bool is_full() const { return basis_.size() == vectors_; }
  // A restart keeps the first `kept` of the Ritz vectors, fewer than all.
  void restart(const Ritz& ritz, size_t kept);
  void forget_oldest();

  // Of the small matrix: as wide as the basis, or, where vectors were forgotten, as many steps as
  // were made.
  Ritz ritz() const;
  size_t steps() const { return diagonal_.size(); }
  // The length of what the next vector is made of: |A y - value y| of a Ritz pair is this times the
  // last coefficient of y.
  double rest() const { return beta_; }

  // out = the block of A in the range times v.
  void multiply(std::span<const T> v, std::span<T> out);
  std::vector<T> combination(std::span<const double> coefficients) const {
    return basis_.combination(coefficients);
  }
  uint64_t products() const { return products_; }

 private:
  const Operator<T>& a_;
  Range range_;
  size_t vectors_;
  std::vector<T> whole_;
  std::vector<T> product_;
  std::vector<T> next_;
  Basis<T> basis_;
  double beta_ = 0;
  double scale_ = 0;
  uint64_t products_ = 0;
  // The small matrix: its diagonal, what is below, and after a restart what couples the kept
  // vectors with the one that follows them.
  std::vector<double> diagonal_;
  std::vector<double> below_;
  std::vector<double> arrow_;
};

}  // namespace quench::curvature
