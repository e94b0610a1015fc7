// Small triangular blocks of the factorization, on one thread, vectorized along rows.
#pragma once

#include <cstdint>

namespace quench::quantizers {

// Both functions take a C-ordered lower triangle whose n rows lie n elements apart. Elements above
// the diagonal are neither read nor written.

// a = L L'; L overwrites a. False, with `a` partly overwritten, if a pivot does not exceed
// `tolerance`.
bool factor_block(double* a, int64_t n, const double* tolerance);

// inverse = l^-1; all of the n x n `inverse` is written.
void invert_block(const double* l, int64_t n, double* inverse);

}  // namespace quench::quantizers
