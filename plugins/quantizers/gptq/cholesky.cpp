#include "quantizers/gptq/cholesky.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "quantizers/gptq/blocks.hpp"
#include "quench/kit/host.hpp"
#include "shared/matrix/product.hpp"

namespace quench::quantizers {

namespace {

constexpr int64_t kBlock = 64;  // blocks with at most this many rows are not halved

// The row at which a block of `n` > kBlock rows is halved: kBlock times a power of two.
int64_t half_of(int64_t n) {
  return kBlock * static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>((n - 1) / kBlock)));
}

// The lower triangle of a square matrix in three parts: [upper, 0; across, lower].
struct Cut {
  explicit Cut(const at::Tensor& a) : Cut(a, half_of(a.size(0)), a.size(0)) {}
  at::Tensor upper;
  at::Tensor across;
  at::Tensor lower;

 private:
  Cut(const at::Tensor& a, int64_t half, int64_t n)
      : upper(a.narrow(0, 0, half).narrow(1, 0, half)),
        across(a.narrow(0, half, n - half).narrow(1, 0, half)),
        lower(a.narrow(0, half, n - half).narrow(1, half, n - half)) {}
};

// The inverse of a diagonal block, with zeros above its diagonal.
at::Tensor inverse_of(const at::Tensor& block) {
  const at::Tensor l = block.contiguous();
  at::Tensor inverse = at::empty(l.sizes(), l.options());
  invert_block(l.const_data_ptr<double>(), l.size(0), inverse.data_ptr<double>());
  return inverse;
}

// b = b L'^-1
void divide_right(at::Tensor b, const at::Tensor& l) {
  if (l.size(0) <= kBlock) {
    b.copy_(matrix::product(b, inverse_of(l).t()));
    return;
  }
  const Cut cut(l);
  const int64_t half = cut.upper.size(0);
  const at::Tensor left = b.narrow(1, 0, half);
  const at::Tensor right = b.narrow(1, half, b.size(1) - half);
  divide_right(left, cut.upper);
  matrix::add_product(right, left, cut.across.t(), -1);
  divide_right(right, cut.lower);
}

// b = factor * X b, where X is lower triangular.
void multiply_left(const at::Tensor& x, at::Tensor b, double factor) {
  if (x.size(0) <= kBlock) {
    b.copy_(matrix::product(x, b).mul_(factor));
    return;
  }
  const Cut cut(x);
  const int64_t half = cut.upper.size(0);
  const at::Tensor above = b.narrow(0, 0, half);
  const at::Tensor below = b.narrow(0, half, b.size(0) - half);
  multiply_left(cut.lower, below, factor);
  matrix::add_product(below, cut.across, above, factor);
  multiply_left(cut.upper, above, factor);
}

// b = b X, where X is lower triangular.
void multiply_right(at::Tensor b, const at::Tensor& x) {
  if (x.size(0) <= kBlock) {
    b.copy_(matrix::product(b, x));
    return;
  }
  const Cut cut(x);
  const int64_t half = cut.upper.size(0);
  const at::Tensor left = b.narrow(1, 0, half);
  const at::Tensor right = b.narrow(1, half, b.size(1) - half);
  multiply_right(left, cut.upper);
  matrix::add_product(left, right, cut.across);
  multiply_right(right, cut.lower);
}

bool factorize_block(at::Tensor a, const double* tolerance) {
  kit::check_cancelled();
  if (a.size(0) <= kBlock) {
    at::Tensor block = a.contiguous();
    const bool positive = factor_block(block.data_ptr<double>(), block.size(0), tolerance);
    a.copy_(block);
    return positive;
  }
  const Cut cut(a);
  if (!factorize_block(cut.upper, tolerance)) {
    return false;
  }
  divide_right(cut.across, cut.upper);
  matrix::add_product(cut.lower, cut.across, cut.across.t(), -1, matrix::Triangle::kLower);
  return factorize_block(cut.lower, tolerance + cut.upper.size(0));
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
  return factorize_block(a, tolerance.data());
}

// [A, 0; B, C]^-1 = [A^-1, 0; -C^-1 B A^-1, C^-1]
void invert_lower_in_place(at::Tensor& l) {
  kit::check_cancelled();
  if (l.size(0) <= kBlock) {
    l.copy_(inverse_of(l));
    return;
  }
  Cut cut(l);
  invert_lower_in_place(cut.upper);
  invert_lower_in_place(cut.lower);
  multiply_left(cut.lower, cut.across, -1);
  multiply_right(cut.across, cut.upper);
  l.narrow(0, 0, cut.upper.size(0)).narrow(1, cut.upper.size(0), cut.lower.size(0)).zero_();
}

}  // namespace quench::quantizers
