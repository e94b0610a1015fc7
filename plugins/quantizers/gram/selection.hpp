// Which of the rows that a quantizer is shown count, and how much.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "quench/abi/kind/quantizer.h"

namespace quench::quantizers {

// Which rows of x count, and the square roots of their weights; nothing where all do, or all are 1.
struct Selection {
  std::optional<std::vector<int64_t>> rows;
  std::vector<double> roots;
  double weight = 0;  // sum of weights
};

// Of the `rows` rows of args.x. INVALID_ARGUMENT for indices out of range and for weights that are
// negative, not finite, or of another number.
Selection select(const quench_observe_args& args, int64_t rows);

// Those rows of x [N, c]. NUMERICAL with row and column where one is NaN or Inf.
at::Tensor selected(const at::Tensor& x, const Selection& selection);

}  // namespace quench::quantizers
