// The small triangular blocks of the factorization: one thread, vectorized along rows.
#pragma once

#include <cstdint>

namespace quench::quantizers {

// Both work on a C-ordered lower triangle of n rows, n elements apart; what lies above the diagonal
// is neither read nor written.

// a = L L', L over a. False, with `a` half done, when a pivot is not above its `tolerance`.
bool factor_block(double* a, int64_t n, const double* tolerance);

// inverse = l^-1; `inverse` is n x n and all of it is written.
void invert_block(const double* l, int64_t n, double* inverse);

}  // namespace quench::quantizers
