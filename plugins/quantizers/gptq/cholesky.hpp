// Cholesky factorization and triangular inverse in float64 by recursion on halves, whose bits do
// not depend on the number of threads (libtorch's own linalg_cholesky and cholesky_inverse do not
// promise that): blocks of 64 rows on the diagonal run on one thread, all else is products.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::quantizers {

// Replaces the lower triangle of `a`, [n, n] float64 in host memory, C order, by L with a = L L'.
// False when `a` is not positive definite: a pivot is no larger than n * epsilon times its diagonal
// element, that is, nothing but rounding is left of it.
bool cholesky_in_place(at::Tensor& a);

// Replaces the lower triangle of `l` by L^-1 and what lies above it by zeros.
void invert_lower_in_place(at::Tensor& l);

}  // namespace quench::quantizers
