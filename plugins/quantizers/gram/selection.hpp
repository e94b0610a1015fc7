// Which of the observed rows count, and with which weight.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "quench/abi/kind/quantizer.h"

namespace quench::quantizers {

// The counted rows of x and the square roots of their weights; undefined if all count, or all weigh
// 1.
struct Selection {
  std::optional<std::vector<int64_t>> rows;
  std::vector<double> roots;
  double weight = 0;  // sum of weights
};

// Selects among the `rows` rows of args.x. Throws INVALID_ARGUMENT for indices out of range and for
// weights that are negative, not finite, or of a wrong number.
Selection select(const quench_observe_args& args, int64_t rows);

// The selected rows of x [N, c].
at::Tensor chosen(const at::Tensor& x, const Selection& selection);
// The same. Throws NUMERICAL with row and column if one is NaN or Inf, for which it waits for x.
at::Tensor selected(const at::Tensor& x, const Selection& selection);

}  // namespace quench::quantizers
