// An orthonormal basis that new vectors are made orthogonal to.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace quench::curvature {

// All vectors have one length. Sums run in float64 over fixed ranges, so that the number of threads
// changes no bit.
template <typename T>
class Basis {
 public:
  size_t size() const { return vectors_.size(); }
  bool empty() const { return vectors_.empty(); }
  std::span<const T> back() const { return vectors_.back(); }

  void push(std::vector<T> vector);
  void drop_oldest();

  // w minus its projections on all vectors.
  void project_out(std::span<T> w) const;
  // Σ coefficient_j v_j over the first vectors, as many as there are coefficients.
  std::vector<T> combination(std::span<const double> coefficients) const;
  // Replaces the vectors in place by combinations of them: the new k-th is Σ_j rows[k][j] v_j.
  // There may be no more rows than vectors.
  void turn(std::span<const std::vector<double>> rows);

 private:
  std::vector<std::vector<T>> vectors_;
};

}  // namespace quench::curvature
