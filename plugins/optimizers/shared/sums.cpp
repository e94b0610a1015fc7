#include "optimizers/shared/sums.hpp"

#include "quench/kit/multiversion.hpp"

namespace quench::optimizers {

QUENCH_MULTIVERSION
double dot(const double* a, const double* b, size_t count) {
  constexpr size_t kSums = 8;
  double sums[kSums] = {};
  size_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (size_t k = 0; k < kSums; ++k) {
      sums[k] += a[i + k] * b[i + k];
    }
  }
  for (; i < count; ++i) {
    sums[i % kSums] += a[i] * b[i];
  }
  double sum = 0;
  for (const double part : sums) {
    sum += part;
  }
  return sum;
}

QUENCH_MULTIVERSION
void add_scaled(double* __restrict to, const double* __restrict from, double factor, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    to[i] += factor * from[i];
  }
}

QUENCH_MULTIVERSION
void subtract_two(double* __restrict to, const double* __restrict e, const double* __restrict d,
                  double f, double g, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    to[i] -= f * e[i] + g * d[i];
  }
}

QUENCH_MULTIVERSION
void rotate(double* __restrict a, double* __restrict b, double c, double s, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const double x = a[i];
    a[i] = c * x - s * b[i];
    b[i] = s * x + c * b[i];
  }
}

}  // namespace quench::optimizers
