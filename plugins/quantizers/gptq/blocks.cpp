#include "quantizers/gptq/blocks.hpp"

#include <cmath>
#include <vector>

#include "quench/kit/multiversion.hpp"

namespace quench::quantizers {

namespace {

// to[j] -= factor * from[j]
QUENCH_MULTIVERSION
void subtract_multiple(double* __restrict to, const double* __restrict from, double factor,
                       int64_t count) {
  for (int64_t j = 0; j < count; ++j) {
    to[j] -= factor * from[j];
  }
}

}  // namespace

bool factor_block(double* a, int64_t n, const double* tolerance) {
  std::vector<double> column(static_cast<size_t>(n));  // column k of L, gathered
  for (int64_t k = 0; k < n; ++k) {
    const double pivot = a[k * n + k];
    if (!(pivot > tolerance[k]) || !std::isfinite(pivot)) {
      return false;
    }
    const double root = std::sqrt(pivot);
    a[k * n + k] = root;
    for (int64_t i = k + 1; i < n; ++i) {
      a[i * n + k] /= root;
      column[static_cast<size_t>(i)] = a[i * n + k];
    }
    for (int64_t i = k + 1; i < n; ++i) {
      subtract_multiple(a + i * n + k + 1, column.data() + k + 1, column[static_cast<size_t>(i)],
                        i - k);
    }
  }
  return true;
}

void invert_block(const double* l, int64_t n, double* inverse) {
  for (int64_t i = 0; i < n; ++i) {
    double* row = inverse + i * n;
    for (int64_t j = 0; j < n; ++j) {
      row[j] = i == j ? 1.0 : 0.0;
    }
    for (int64_t k = 0; k < i; ++k) {
      subtract_multiple(row, inverse + k * n, l[i * n + k], k + 1);
    }
    for (int64_t j = 0; j <= i; ++j) {
      row[j] /= l[i * n + i];
    }
  }
}

}  // namespace quench::quantizers
