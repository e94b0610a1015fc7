#include <cmath>
#include <utility>

#include "optimizers/shared/decompositions.hpp"
#include "optimizers/shared/sums.hpp"
#include "quench/kit/host.hpp"

namespace quench::optimizers {

namespace {

constexpr uint64_t kColumnsPerTask = 8;

// x ← x − τ·v·(vᵀx)
void reflect(double* x, const double* v, double tau, size_t count) {
  add_scaled(x, v, -tau * dot(v, x, count), count);
}

// Overwrites x with the v of the reflection that makes it a multiple of the first unit vector, v₀ =
// 1, and returns its τ: 0 where it is one.
double make_reflection(double* x, size_t count) {
  const double rest = dot(x + 1, x + 1, count - 1);
  if (rest == 0) {
    x[0] = 1;
    return 0;
  }
  const double beta = -std::copysign(std::sqrt(x[0] * x[0] + rest), x[0]);
  const double tau = (beta - x[0]) / beta;
  const double scale = 1 / (x[0] - beta);
  for (size_t i = 1; i < count; ++i) {
    x[i] *= scale;
  }
  x[0] = 1;
  return tau;
}

// The columns from `first` on, each from row `row` on.
void reflect_columns(Columns& matrix, const double* v, double tau, size_t n, size_t row,
                     size_t first) {
  if (tau == 0) {
    return;
  }
  kit::parallel_for(n - first, kColumnsPerTask, [&](uint64_t begin, uint64_t end) {
    for (size_t k = first + begin; k < first + end; ++k) {
      reflect(&matrix[k * n + row], v, tau, n - row);
    }
  });
}

}  // namespace

Columns orthogonal_factor(Columns matrix, size_t n) {
  std::vector<double> taus(n);
  for (size_t j = 0; j < n; ++j) {
    double* const v = &matrix[j * n + j];
    taus[j] = make_reflection(v, n - j);
    if (j + 1 < n) {
      reflect_columns(matrix, v, taus[j], n, j, j + 1);
    }
  }
  Columns q(n * n, 0.0);
  for (size_t j = n; j-- > 0;) {
    q[j * n + j] = 1;
    reflect_columns(q, &matrix[j * n + j], taus[j], n, j, j);
  }
  return q;
}

}  // namespace quench::optimizers
