#include "metrics/curvature/tridiagonal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "quench/kit/error.hpp"

namespace quench::curvature {

namespace {

constexpr int kSweeps = 60;  // per eigenvalue; two or three are usual

struct Matrix {
  std::vector<double> d;  // diagonal
  std::vector<double> e;  // subdiagonal, then a zero
  std::vector<double> z;  // eigenvectors so far, one after the other
};

// The first index >= `from` whose subdiagonal element is negligible.
size_t end_of_block(const Matrix& a, size_t from) {
  size_t m = from;
  for (; m + 1 < a.d.size(); ++m) {
    const double size = std::abs(a.d[m]) + std::abs(a.d[m + 1]);
    if (std::abs(a.e[m]) <= 1e-16 * size) {
      break;
    }
  }
  return m;
}

// One implicit QL step on rows from..m, as rotations of neighbouring rows from the bottom up.
void step(Matrix& a, size_t from, size_t m) {
  double g = (a.d[from + 1] - a.d[from]) / (2.0 * a.e[from]);
  g = a.d[m] - a.d[from] + a.e[from] / (g + std::copysign(std::hypot(g, 1.0), g));
  double sine = 1;
  double cosine = 1;
  double carried = 0;
  for (size_t i = m; i-- > from;) {
    const double f = sine * a.e[i];
    const double b = cosine * a.e[i];
    const double r = std::hypot(f, g);
    a.e[i + 1] = r;
    if (r == 0.0) {
      a.d[i + 1] -= carried;
      a.e[m] = 0;
      return;
    }
    sine = f / r;
    cosine = g / r;
    const double before = a.d[i + 1] - carried;
    const double turned = (a.d[i] - before) * sine + 2.0 * cosine * b;
    carried = sine * turned;
    a.d[i + 1] = before + carried;
    g = cosine * turned - b;
    double* lower = a.z.data() + i * a.d.size();
    double* upper = lower + a.d.size();
    for (size_t k = 0; k < a.d.size(); ++k) {
      const double high = upper[k];
      upper[k] = sine * lower[k] + cosine * high;
      lower[k] = cosine * lower[k] - sine * high;
    }
  }
  a.d[from] -= carried;
  a.e[from] = g;
  a.e[m] = 0;
}

}  // namespace

TridiagonalEigen tridiagonal_eigen(std::vector<double> diagonal, std::vector<double> below) {
  const size_t size = diagonal.size();
  Matrix a{std::move(diagonal), std::move(below), {}};
  a.e.resize(size, 0.0);
  a.z.resize(size * size, 0.0);
  for (size_t i = 0; i < size; ++i) {
    a.z[i * size + i] = 1.0;
    if (!std::isfinite(a.d[i]) || !std::isfinite(a.e[i])) {
      kit::fail(QUENCH_NUMERICAL, "a product with the curvature matrix is not finite");
    }
  }
  for (size_t from = 0; from < size; ++from) {
    for (int sweep = 0;; ++sweep) {
      const size_t m = end_of_block(a, from);
      if (m == from) {
        break;
      }
      if (sweep == kSweeps) {
        kit::fail(QUENCH_NUMERICAL, "QL iteration on a tridiagonal matrix did not converge");
      }
      step(a, from, m);
    }
  }
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return a.d[i] > a.d[j]; });
  TridiagonalEigen out;
  for (const size_t i : order) {
    out.values.push_back(a.d[i]);
    const double* vector = a.z.data() + i * size;
    out.vectors.emplace_back(vector, vector + size);
  }
  return out;
}

}  // namespace quench::curvature
