#include "quantizers/gptq/cholesky.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/tril.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "quantizers/gptq/blocks.hpp"
#include "quench/kit/host.hpp"

namespace quench::quantizers {

namespace {

constexpr int64_t kBlock = 128;
constexpr int64_t kStrip = 512;  // columns of the trailing matrix that one product updates

at::Tensor part(const at::Tensor& a, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  return a.narrow(0, row, rows).narrow(1, column, columns);
}

// The inverse of a diagonal block; zeros above its diagonal.
at::Tensor inverse_of(const at::Tensor& block) {
  const at::Tensor l = block.contiguous();
  at::Tensor inverse = at::empty(l.sizes(), l.options());
  invert_block(l.const_data_ptr<double>(), l.size(0), inverse.data_ptr<double>());
  return inverse;
}

}  // namespace

bool cholesky_in_place(at::Tensor& a) {
  const int64_t n = a.size(0);
  const double* elements = a.const_data_ptr<double>();
  std::vector<double> tolerance(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    tolerance[static_cast<size_t>(i)] =
        static_cast<double>(n) * std::numeric_limits<double>::epsilon() * elements[i * n + i];
  }
  for (int64_t k = 0; k < n; k += kBlock) {
    kit::check_cancelled();
    const int64_t size = std::min(kBlock, n - k);
    at::Tensor corner = part(a, k, size, k, size);
    at::Tensor block = corner.contiguous();
    if (!factor_block(block.data_ptr<double>(), size, tolerance.data() + k)) {
      return false;
    }
    corner.copy_(block);
    const int64_t next = k + size;
    if (next == n) {
      break;
    }
    at::Tensor below = part(a, next, n - next, k, size);
    below.copy_(at::mm(below, inverse_of(block).t()));
    for (int64_t j = next; j < n; j += kStrip) {
      const int64_t width = std::min(kStrip, n - j);
      const at::Tensor left = part(a, j, n - j, k, size);
      part(a, j, n - j, j, width).addmm_(left, left.narrow(0, 0, width).t(), 1, -1);
    }
  }
  return true;
}

// Block row k of X = L^-1 is X[k,:k] = -L[k,k]^-1 * sum over i < k of L[k,i] X[i,:k]. The sums grow
// in place: step k takes block column k of L out and adds its products to the rows below.
void invert_lower_in_place(at::Tensor& l) {
  const int64_t n = l.size(0);
  for (int64_t k = 0; k < n; k += kBlock) {
    kit::check_cancelled();
    const int64_t size = std::min(kBlock, n - k);
    const int64_t next = k + size;
    const at::Tensor inverse = inverse_of(part(l, k, size, k, size));
    if (k > 0) {
      at::Tensor row = part(l, k, size, 0, k);
      row.copy_(at::mm(inverse, row).neg_());
    }
    part(l, k, size, k, size).copy_(inverse);
    if (next < n) {
      at::Tensor column = part(l, next, n - next, k, size);
      const at::Tensor taken = column.clone();
      column.zero_();
      part(l, next, n - next, 0, next).addmm_(taken, part(l, k, size, 0, next));
    }
  }
  l.tril_();
}

}  // namespace quench::quantizers
