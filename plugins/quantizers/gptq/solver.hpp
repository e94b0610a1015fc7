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
  bool float64;   // else weights outside the current block and the updates to them are float32
  // The order keeps the columns of a group together (kGroupAware), in groups of original columns.
  bool group_aware = false;
  bool groups_stay() const { return static_groups || group_aware; }
};

// Fills `coded` for `weight`, [out, in] in host memory, and returns the loss, the sum of
// (w - q)^2 / U_ii^2 / 2. A block's own columns are worked on in float64, grids, errors and the
// loss with them. Without `float64` what leaves a block is float32: the errors, U right of the
// block, their product and the weights it is taken from. That product is nearly all of the work and
// takes half the time in float32; its rounding comes once a block, not once a column. NUMERICAL
// when the loss is not finite.
double solve(const at::Tensor& weight, const Factor& factor, const SolverOptions& options,
             const Coded& coded);

}  // namespace quench::quantizers
