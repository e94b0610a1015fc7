#include "optimizers/shampoo/inverse_root.hpp"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>

#include "optimizers/shared/decompositions.hpp"
#include "quench/kit/error.hpp"
#include "shared/matrix/product.hpp"

namespace quench::optimizers {

void inverse_root(std::span<const double> p, int64_t size, double scale, double epsilon,
                  double root, std::span<float> out) {
  const auto n = static_cast<size_t>(size);
  Columns whole(n * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i; j < n; ++j) {
      whole[i * n + j] = whole[j * n + i] = scale * p[i * n + j];
    }
  }
  EigenDecomposition found = eigen_decomposition(std::move(whole), n);
  Columns scaled = found.vectors;
  for (size_t k = 0; k < n; ++k) {
    const double factor = std::pow(std::max(found.values[k], 0.0) + epsilon, -1 / root);
    if (!std::isfinite(factor)) {
      kit::fail(QUENCH_NUMERICAL,
                "shampoo: a factor has an eigenvalue of 0 and so no inverse root; wanted "
                "factor_epsilon above 0");
    }
    for (size_t i = 0; i < n; ++i) {
      scaled[k * n + i] *= factor;
    }
  }
  // Columns are the rows of Vᵀ: V·(diag·Vᵀ).
  const at::Tensor vectors = at::from_blob(found.vectors.data(), {size, size}, at::kDouble);
  const at::Tensor rows = at::from_blob(scaled.data(), {size, size}, at::kDouble);
  at::from_blob(out.data(), {size, size}, at::kFloat).copy_(matrix::product(vectors.t(), rows));
}

}  // namespace quench::optimizers
