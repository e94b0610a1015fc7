// Rounding to nearest, row by row: what rtn does, and the baseline of other methods.
#pragma once

#include "quantizers/grid/coded.hpp"
#include "quantizers/grid/search.hpp"

namespace quench::quantizers {

// Computes scales and zeros of every group of every row of `weight` [rows, columns], and the codes.
void round_rows(const float* weight, Groups groups, GridKind kind, const Coded& coded);
void round_rows(const double* weight, Groups groups, GridKind kind, const Coded& coded);

}  // namespace quench::quantizers
