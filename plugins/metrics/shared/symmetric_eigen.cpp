#include "metrics/shared/symmetric_eigen.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace quench::metrics {

namespace {

constexpr int kMaxSweeps = 60;  // convergence is quadratic: ten would be many

// Makes element (p,q) zero: A <- JᵀAJ, V <- VJ, where V's columns are the rows of `vectors`.
void rotate(std::vector<double>& a, std::vector<double>& vectors, size_t n, size_t p, size_t q) {
  const double apq = a[p * n + q];
  if (apq == 0) {
    return;
  }
  const double tau = (a[q * n + q] - a[p * n + p]) / (2 * apq);
  const double t = std::copysign(1.0, tau) / (std::fabs(tau) + std::hypot(1.0, tau));
  const double c = 1 / std::hypot(1.0, t);
  const double s = t * c;
  for (size_t k = 0; k < n; ++k) {
    const double akp = a[k * n + p];
    const double akq = a[k * n + q];
    a[k * n + p] = c * akp - s * akq;
    a[k * n + q] = s * akp + c * akq;
  }
  for (size_t k = 0; k < n; ++k) {
    const double apk = a[p * n + k];
    const double aqk = a[q * n + k];
    a[p * n + k] = c * apk - s * aqk;
    a[q * n + k] = s * apk + c * aqk;
    const double vp = vectors[p * n + k];
    const double vq = vectors[q * n + k];
    vectors[p * n + k] = c * vp - s * vq;
    vectors[q * n + k] = s * vp + c * vq;
  }
  a[p * n + q] = 0;
  a[q * n + p] = 0;
}

}  // namespace

Eigen symmetric_eigen(std::vector<double> a, size_t n) {
  std::vector<double> vectors(n * n, 0.0);
  for (size_t i = 0; i < n; ++i) {
    vectors[i * n + i] = 1;
  }
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    double off = 0;
    double diagonal = 0;
    for (size_t i = 0; i < n; ++i) {
      diagonal += a[i * n + i] * a[i * n + i];
      for (size_t j = i + 1; j < n; ++j) {
        off += a[i * n + j] * a[i * n + j];
      }
    }
    if (off <= 1e-34 * diagonal) {
      break;
    }
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = p + 1; q < n; ++q) {
        rotate(a, vectors, n, p, q);
      }
    }
  }
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return a[i * n + i] > a[j * n + j]; });
  Eigen out{std::vector<double>(n), std::vector<double>(n * n)};
  for (size_t k = 0; k < n; ++k) {
    out.values[k] = a[order[k] * n + order[k]];
    std::copy_n(vectors.begin() + static_cast<ptrdiff_t>(order[k] * n), n,
                out.vectors.begin() + static_cast<ptrdiff_t>(k * n));
  }
  return out;
}

}  // namespace quench::metrics
