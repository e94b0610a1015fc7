#include "optimizers/soap/eigenbasis.hpp"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <numeric>

#include "optimizers/shared/decompositions.hpp"
#include "optimizers/shared/sums.hpp"
#include "shared/matrix/product.hpp"

namespace quench::optimizers {

namespace {

at::Tensor matrix_on(std::span<float> values, int64_t size) {
  return at::from_blob(values.data(), {size, size}, at::kFloat);
}

// As columns, in float64.
Columns columns_of(const at::Tensor& matrix) {
  const at::Tensor wide = matrix.t().to(at::kDouble).contiguous();
  const auto* values = wide.const_data_ptr<double>();
  return {values, values + wide.numel()};
}

void put(const Columns& columns, const at::Tensor& to, int64_t size) {
  to.copy_(at::from_blob(const_cast<double*>(columns.data()), {size, size}, at::kDouble).t());
}

}  // namespace

at::Tensor Eigenbasis::q() const {
  return matrix_on(basis, size);
}

void Eigenbasis::observe(const at::Tensor& gradient, double beta) const {
  const at::Tensor p = matrix_on(moments, size);
  p.mul_(beta);
  matrix::add_product(p, gradient, gradient.t(), 1 - beta);
}

void Eigenbasis::begin() const {
  const auto n = static_cast<size_t>(size);
  put(eigenvectors(columns_of(matrix_on(moments, size)), n), q(), size);
}

std::vector<int64_t> Eigenbasis::refresh() const {
  const auto n = static_cast<size_t>(size);
  const at::Tensor wide = q().to(at::kDouble);
  const Columns before = columns_of(wide);
  const Columns power = columns_of(matrix::product(matrix_on(moments, size).to(at::kDouble), wide));
  std::vector<double> estimates(n);  // of the eigenvalues
  for (size_t j = 0; j < n; ++j) {
    estimates[j] = dot(&before[j * n], &power[j * n], n);
  }
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return estimates[static_cast<size_t>(i)] > estimates[static_cast<size_t>(j)];
  });
  Columns sorted(n * n);
  for (size_t j = 0; j < n; ++j) {
    std::copy_n(&power[static_cast<size_t>(order[j]) * n], n, &sorted[j * n]);
  }
  put(orthogonal_factor(std::move(sorted), n), q(), size);
  return order;
}

}  // namespace quench::optimizers
