#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "optimizers/shared/decompositions.hpp"
#include "optimizers/shared/sums.hpp"
#include "quench/kit/error.hpp"

namespace quench::optimizers {

namespace {

// A symmetric matrix on the way to its eigenvectors: `v` holds the matrix, then the product of the
// transformations; `d` the diagonal and `e` what is below it of a tridiagonal one.
struct Tridiagonal {
  size_t n;
  Columns v;
  std::vector<double> d, e;
  double& at(size_t row, size_t column) { return v[column * n + row]; }
  double* column(size_t j) { return &v[j * n]; }
};

// The reflection of step i, whose vector is in `d`, from both sides of the leading [i, i] part.
void reflect_both_sides(Tridiagonal& t, size_t i, double h) {
  std::vector<double>& d = t.d;
  std::vector<double>& e = t.e;
  std::fill_n(e.begin(), i, 0.0);
  for (size_t j = 0; j < i; ++j) {
    const double f = d[j];
    t.at(j, i) = f;
    const size_t below = i - j - 1;
    const double* const part = t.column(j) + j + 1;
    e[j] += t.at(j, j) * f + dot(part, &d[j + 1], below);
    add_scaled(&e[j + 1], part, f, below);
  }
  for (size_t j = 0; j < i; ++j) {
    e[j] /= h;
  }
  const double half = dot(e.data(), d.data(), i) / (h + h);
  add_scaled(e.data(), d.data(), -half, i);
  for (size_t j = 0; j < i; ++j) {
    subtract_two(t.column(j) + j, &e[j], &d[j], d[j], e[j], i - j);
    d[j] = t.at(i - 1, j);
    t.at(i, j) = 0;
  }
}

void reduce(Tridiagonal& t) {
  const size_t n = t.n;
  for (size_t j = 0; j < n; ++j) {
    t.d[j] = t.at(n - 1, j);
  }
  for (size_t i = n - 1; i > 0; --i) {
    double scale = 0;
    for (size_t k = 0; k < i; ++k) {
      scale += std::abs(t.d[k]);
    }
    double h = 0;
    if (scale == 0) {
      t.e[i] = t.d[i - 1];
      for (size_t j = 0; j < i; ++j) {
        t.d[j] = t.at(i - 1, j);
        t.at(i, j) = 0;
        t.at(j, i) = 0;
      }
    } else {
      for (size_t k = 0; k < i; ++k) {
        t.d[k] /= scale;
      }
      h = dot(t.d.data(), t.d.data(), i);
      const double f = t.d[i - 1];
      const double g = f > 0 ? -std::sqrt(h) : std::sqrt(h);
      t.e[i] = scale * g;
      h -= f * g;
      t.d[i - 1] = f - g;
      reflect_both_sides(t, i, h);
    }
    t.d[i] = h;
  }
}

// The product of the reflections, in place of their vectors.
void accumulate(Tridiagonal& t) {
  const size_t n = t.n;
  for (size_t i = 0; i + 1 < n; ++i) {
    t.at(n - 1, i) = t.at(i, i);
    t.at(i, i) = 1;
    double* const next = t.column(i + 1);
    if (const double h = t.d[i + 1]; h != 0) {
      for (size_t k = 0; k <= i; ++k) {
        t.d[k] = next[k] / h;
      }
      for (size_t j = 0; j <= i; ++j) {
        add_scaled(t.column(j), t.d.data(), -dot(next, t.column(j), i + 1), i + 1);
      }
    }
    std::fill_n(next, i + 1, 0.0);
  }
  for (size_t j = 0; j < n; ++j) {
    t.d[j] = t.at(n - 1, j);
    t.at(n - 1, j) = 0;
  }
  t.at(n - 1, n - 1) = 1;
}

// One QL step with an implicit shift on rows l..m.
void shifted_step(Tridiagonal& t, size_t l, size_t m, double& total_shift) {
  std::vector<double>& d = t.d;
  std::vector<double>& e = t.e;
  const double g0 = d[l];
  double p = (d[l + 1] - g0) / (2 * e[l]);
  const double root = std::copysign(std::hypot(p, 1.0), p);
  d[l] = e[l] / (p + root);
  d[l + 1] = e[l] * (p + root);
  const double next = d[l + 1];
  const double shift = g0 - d[l];
  for (size_t i = l + 2; i < t.n; ++i) {
    d[i] -= shift;
  }
  total_shift += shift;
  p = d[m];
  double c = 1;
  double c2 = 1;
  double c3 = 1;
  double s = 0;
  double s2 = 0;
  const double second = e[l + 1];
  for (size_t i = m; i-- > l;) {
    c3 = c2;
    c2 = c;
    s2 = s;
    const double g = c * e[i];
    const double h = c * p;
    const double r = std::hypot(p, e[i]);
    e[i + 1] = s * r;
    s = e[i] / r;
    c = p / r;
    p = c * d[i] - s * g;
    d[i + 1] = h + s * (c * g + s * d[i]);
    rotate(t.column(i), t.column(i + 1), c, s, t.n);
  }
  p = -s * s2 * c3 * second * e[l] / next;
  e[l] = s * p;
  d[l] = c * p;
}

void diagonalize(Tridiagonal& t) {
  constexpr double kRoundoff = std::numeric_limits<double>::epsilon();
  const size_t n = t.n;
  std::rotate(t.e.begin(), t.e.begin() + 1, t.e.end());
  t.e[n - 1] = 0;
  double shift = 0;
  double largest = 0;
  for (size_t l = 0; l < n; ++l) {
    largest = std::max(largest, std::abs(t.d[l]) + std::abs(t.e[l]));
    size_t m = l;
    while (std::abs(t.e[m]) > kRoundoff * largest) {
      ++m;  // e[n − 1] is 0
    }
    while (m > l && std::abs(t.e[l]) > kRoundoff * largest) {
      shifted_step(t, l, m, shift);
    }
    t.d[l] += shift;
    t.e[l] = 0;
  }
}

}  // namespace

EigenDecomposition eigen_decomposition(Columns symmetric, size_t n) {
  if (!std::all_of(symmetric.begin(), symmetric.end(), [](double x) { return std::isfinite(x); })) {
    kit::fail(QUENCH_NUMERICAL, "a gradient's second moments are not finite");
  }
  Tridiagonal t{n, std::move(symmetric), std::vector<double>(n), std::vector<double>(n)};
  reduce(t);
  accumulate(t);
  t.e[0] = 0;
  diagonalize(t);
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return t.d[i] > t.d[j]; });
  EigenDecomposition out{std::vector<double>(n), Columns(n * n)};
  for (size_t k = 0; k < n; ++k) {
    out.values[k] = t.d[order[k]];
    std::copy_n(t.column(order[k]), n, &out.vectors[k * n]);
  }
  return out;
}

}  // namespace quench::optimizers
