#include "metrics/curvature/krylov.hpp"

#include <algorithm>
#include <cmath>

#include "metrics/curvature/tridiagonal.hpp"
#include "metrics/shared/symmetric_eigen.hpp"
#include "shared/random/random_vector.hpp"

namespace quench::curvature {

template <typename T>
Krylov<T>::Krylov(const Operator<T>& a, uint64_t size, std::span<const Range> ranges,
                  const std::string& stream, size_t vectors, Space<T>& space)
    : a_(a),
      ranges_(ranges.begin(), ranges.end()),
      vectors_(vectors),
      space_(space),
      whole_(space, size),
      product_(space, size),
      next_(space, size_of(ranges)),
      basis_(space) {
  space_.fill(next_, [&](std::span<T> to) { random::draw_normal<T>(stream, to); });
  beta_ = metrics::norm<T>(space_, next_);
}

template <typename T>
bool Krylov<T>::step() {
  const double floor = scale_ * 1e-14 * std::sqrt(static_cast<double>(next_.size()));
  if (diagonal_.size() == next_.size() || beta_ <= floor) {
    return false;
  }
  if (!diagonal_.empty()) {
    below_.push_back(diagonal_.size() == arrow_.size() ? 0.0 : beta_);
  }
  space_.combine(next_, 1.0 / beta_, 0.0, next_);
  Vector<T> added(space_, next_.size());
  space_.copy(next_, added);
  basis_.push(std::move(added));
  multiply(basis_.back(), next_);
  diagonal_.push_back(space_.dot(basis_.back(), next_));
  scale_ = std::max({scale_, std::abs(diagonal_.back()), below_.empty() ? 0.0 : below_.back()});
  basis_.project_out(next_);
  basis_.project_out(next_);
  beta_ = metrics::norm<T>(space_, next_);
  return true;
}

template <typename T>
void Krylov<T>::restart(const Ritz& ritz, size_t kept) {
  basis_.turn(std::span(ritz.vectors).first(kept));
  diagonal_.assign(ritz.values.begin(), ritz.values.begin() + static_cast<int64_t>(kept));
  below_.assign(kept - 1, 0.0);
  arrow_.clear();
  for (size_t k = 0; k < kept; ++k) {
    arrow_.push_back(beta_ * ritz.vectors[k].back());
  }
}

template <typename T>
void Krylov<T>::forget_oldest() {
  basis_.drop_oldest();
}

template <typename T>
Ritz Krylov<T>::ritz() const {
  if (arrow_.empty()) {
    TridiagonalEigen found = tridiagonal_eigen(diagonal_, below_);
    return {std::move(found.values), std::move(found.vectors)};
  }
  const size_t size = diagonal_.size();
  std::vector<double> matrix(size * size, 0.0);
  const auto set = [&](size_t i, size_t j, double value) {
    matrix[i * size + j] = value;
    matrix[j * size + i] = value;
  };
  for (size_t i = 0; i < size; ++i) {
    set(i, i, diagonal_[i]);
    if (i < arrow_.size() && arrow_.size() < size) {
      set(i, arrow_.size(), arrow_[i]);
    } else if (i >= arrow_.size() && i + 1 < size) {
      set(i, i + 1, below_[i]);
    }
  }
  const metrics::Eigen found = metrics::symmetric_eigen(std::move(matrix), size);
  Ritz out{found.values, {}};
  for (size_t k = 0; k < size; ++k) {
    const auto row = found.vectors.begin() + static_cast<int64_t>(k * size);
    out.vectors.emplace_back(row, row + static_cast<int64_t>(size));
  }
  return out;
}

template <typename T>
void Krylov<T>::multiply(std::span<const T> v, std::span<T> out) {
  uint64_t at = 0;
  for (const Range& range : ranges_) {
    space_.copy(v.subspan(at, range.size()), whole_.part(range.first, range.size()));
    at += range.size();
  }
  a_(whole_, product_);
  at = 0;
  for (const Range& range : ranges_) {
    space_.copy(product_.part(range.first, range.size()), out.subspan(at, range.size()));
    at += range.size();
  }
  ++products_;
}

template class Krylov<double>;
template class Krylov<float>;

}  // namespace quench::curvature
