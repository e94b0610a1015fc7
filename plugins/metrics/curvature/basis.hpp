// An orthonormal basis that new vectors are made orthogonal to.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "metrics/vectors/space.hpp"

namespace quench::curvature {

using metrics::Space;
using metrics::Vector;

// All vectors have one length and lie in one space.
template <typename T>
class Basis {
 public:
  explicit Basis(Space<T>& space) : space_(space) {}

  size_t size() const { return vectors_.size(); }
  bool empty() const { return vectors_.empty(); }
  std::span<const T> back() const { return vectors_.back(); }

  void push(Vector<T> vector) { vectors_.push_back(std::move(vector)); }
  void drop_oldest() { vectors_.erase(vectors_.begin()); }

  // w minus its projections on all vectors.
  void project_out(std::span<T> w) const { space_.project_out(vectors_, w); }
  // Σ coefficient_j v_j over the first vectors, as many as there are coefficients.
  Vector<T> combination(std::span<const double> coefficients) const {
    Vector<T> out(space_, vectors_.front().size());
    space_.combination(vectors_, coefficients, out);
    return out;
  }
  // Replaces the vectors in place by combinations of them: the new k-th is Σ_j rows[k][j] v_j.
  // There may be no more rows than vectors.
  void turn(std::span<const std::vector<double>> rows) {
    space_.turn(vectors_, rows);
    vectors_.erase(vectors_.begin() + static_cast<std::ptrdiff_t>(rows.size()), vectors_.end());
  }

 private:
  Space<T>& space_;
  std::vector<Vector<T>> vectors_;
};

}  // namespace quench::curvature
