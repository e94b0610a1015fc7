#include "optimizers/muon/orthogonalize.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include <cmath>
#include <vector>

#include "shared/matrix/product.hpp"

namespace quench::optimizers {

namespace {

constexpr double kA = 3.4445;
constexpr double kB = -4.7750;
constexpr double kC = 2.0315;

// The Frobenius norm, summed in one order for any number of threads.
double norm_of(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) {
    sum += static_cast<double>(value) * value;
  }
  return std::sqrt(sum);
}

}  // namespace

void orthogonalize(std::span<float> matrix, int64_t rows, int64_t columns, int64_t iterations) {
  const double norm = norm_of(matrix);
  if (norm == 0) {
    return;
  }
  const at::NoGradGuard no_gradients;
  const at::Tensor given = at::from_blob(matrix.data(), {rows, columns}, at::kFloat);
  const bool tall = rows > columns;
  at::Tensor x = (tall ? given.t() : given).div(norm);
  for (int64_t i = 0; i < iterations; ++i) {
    const at::Tensor a = matrix::product(x, x.t());
    const at::Tensor b = a.mul(kB);
    matrix::add_product(b, a, a, kC);
    const at::Tensor next = x.mul(kA);
    matrix::add_product(next, b, x);
    x = next;
  }
  given.copy_(tall ? x.t() : x);
}

}  // namespace quench::optimizers
