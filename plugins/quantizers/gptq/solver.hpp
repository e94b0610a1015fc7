// GPTQ on one weight: rounds the columns in order and spreads each column's error over the columns
// not yet rounded (Frantar et al. 2023, "GPTQ", algorithm 1).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "quantizers/gptq/factor.hpp"
#include "quantizers/grid/coded.hpp"
#include "shared/number_formats/number_format.hpp"

namespace quench::quantizers {

struct SolverOptions {
  GridKind kind;
  int64_t group_size;  // columns per group; -1: whole rows
  bool static_groups;  // grids from the weight before the loop, groups in original column order
  bool stale;          // a group's grid comes from the weight at the start of a block
  int64_t block;       // columns whose updates to later columns are applied together
  bool float64;        // otherwise weights outside the current block and their updates are float32
  // The order keeps the columns of each group together (kGroupAware); groups are in original order.
  bool group_aware = false;
  // Rounds to this format instead of to a grid of `kind`, with scales of the least squared error if
  // kind.mse is not 0; null: to the grid. Of a weight on a GPU solve_to_format_there() alone takes
  // it.
  const number_formats::NumberFormat* format = nullptr;
  double tensor_scale = 1;  // of a format that has one
  bool groups_stay() const { return static_groups || group_aware; }
};

// Fills `coded` for `weight` (of a format: codes of its elements, and zeros that say nothing),
// [out, in], and returns the loss, the sum of (w - q)^2 / U_ii^2 / 2. A weight on a GPU is solved
// there, by kernels (device/solve_by_kernels.hpp). Inside a block, columns, grids, errors and the
// loss are float64. Without `float64`, updates beyond the block are float32: the errors, U to the
// right of the block, their product, and the weights it is subtracted from. That product is nearly
// all of the work and takes half the time in float32; it rounds once per block, not once per
// column. Throws NUMERICAL if the loss is not finite.
double solve(const at::Tensor& weight, const Factor& factor, const SolverOptions& options,
             const Coded& coded);

// The same of a weight on a GPU, without codes: the dequantized weight goes to `dequantized` there.
double solve_into(const at::Tensor& weight, const Factor& factor, const SolverOptions& options,
                  const at::Tensor& dequantized, const char* name);

// What solving left where the weight is: groups of neighbouring columns; zeros say nothing.
struct SolvedThere {
  CodedThere coded;
  double loss;
};
// To options.format, whose scales a kernel must find, of a weight on a GPU.
SolvedThere solve_to_format_there(const at::Tensor& weight, const Factor& factor,
                                  const SolverOptions& options);

}  // namespace quench::quantizers
