// GPTQ on one weight: columns in order, each rounded, its error spread over the columns not yet
// rounded (Frantar et al. 2023, "GPTQ", algorithm 1).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "quantizers/gptq/factor.hpp"
#include "quantizers/grid/coded.hpp"

namespace quench::quantizers {

struct SolverOptions {
  GridKind kind;
  int64_t group_size;  // columns, or -1: whole rows
  bool static_groups;  // grids from the weight before the loop, groups in original column order
  bool stale;     // grids of a group from the weight at the start of a block of `block` columns
  int64_t block;  // columns whose updates to the rest are applied at once
};

// Fills `coded` for `weight`, [out, in] in host memory, and returns the loss, the sum of
// (w - q)^2 / U_ii^2 / 2. The arithmetic is float32 for a `factor.upper` in float32 (weights while
// they are updated, U off the diagonal, stored errors, the trailing product) and float64 for one in
// float64; grids, rounding and the loss are float64 in both. NUMERICAL when the loss is not finite.
double solve(const at::Tensor& weight, const Factor& factor, const SolverOptions& options,
             const Coded& coded);

}  // namespace quench::quantizers
