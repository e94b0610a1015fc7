#include "optimizers/muon/orthogonalize.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <cmath>
#include <optional>

#include "shared/matrix/on_host.hpp"
#include "shared/matrix/product.hpp"

namespace quench::optimizers {

namespace {

constexpr double kA = 3.4445;
constexpr double kB = -4.7750;
constexpr double kC = 2.0315;

// On a GPU a matrix is divided by at least this, so that one of zeros stays one and no code has to
// wait for its norm. A float32 far from where numbers lose digits.
constexpr double kLeastNorm = 1e-30;

// X/‖X‖ by the Frobenius norm, summed in float64; in host memory in one order for any number of
// threads.
at::Tensor normalized(const at::Tensor& x) {
  if (!matrix::on_host(x)) {
    return x.div(at::linalg_vector_norm(x, 2, std::nullopt, /*keepdim=*/false, at::kDouble)
                     .clamp_min(kLeastNorm)
                     .to(at::kFloat));
  }
  const auto* values = x.const_data_ptr<float>();
  double sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    sum += static_cast<double>(values[i]) * values[i];
  }
  return sum == 0 ? x.clone() : x.div(std::sqrt(sum));
}

}  // namespace

void orthogonalize(const at::Tensor& matrix, int64_t iterations) {
  const at::NoGradGuard no_gradients;
  const bool tall = matrix.size(0) > matrix.size(1);
  const at::Tensor whole = normalized(matrix);
  at::Tensor x = tall ? whole.t() : whole;
  for (int64_t i = 0; i < iterations; ++i) {
    const at::Tensor a = matrix::product(x, x.t());
    const at::Tensor b = a.mul(kB);
    matrix::add_product(b, a, a, kC);
    const at::Tensor next = x.mul(kA);
    matrix::add_product(next, b, x);
    x = next;
  }
  at::Tensor to = matrix;
  to.copy_(tall ? x.t() : x);
}

}  // namespace quench::optimizers
