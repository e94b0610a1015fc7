// Cholesky factorization and triangular inverse in float64, by recursive halving. The bits do not
// depend on the number of threads, which libtorch's linalg_cholesky and cholesky_inverse do not
// promise: diagonal blocks of 64 rows run on one thread, and everything else is matrix products.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::quantizers {

// Replaces the lower triangle of `a`, [n, n] float64 in host memory, C order, by L with a = L L'.
// Returns false if `a` is not positive definite: a pivot is at most n * epsilon times its diagonal
// element, that is, only rounding is left of it.
bool cholesky_in_place(at::Tensor& a);

// Replaces the lower triangle of `l` by L^-1 and the rest by zeros.
void invert_lower_in_place(at::Tensor& l);

}  // namespace quench::quantizers
