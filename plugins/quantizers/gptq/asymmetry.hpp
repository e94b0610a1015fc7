// GPTAQ (Li et al. 2025, arXiv 2504.02692): what the float model's inputs X~ say beyond those of
// the quantized one, X.
#pragma once

#include <ATen/core/Tensor.h>

#include "quantizers/gptq/factor.hpp"

namespace quench::quantizers {

// Sets factor.correction to P = alpha * triu(D U', 1) U with D = 2/rows * (X~ - X)'X in the order
// of factor.perm. The loop then adds w * P[i, i:] to the columns to come when column i, which stood
// at w, is rounded: that is the part of (X~ - X) w that they can still give. `cross` is (X~ - X)'X
// [in, in] float64, in original column order.
void add_correction(Factor& factor, const at::Tensor& cross, double rows, double alpha);

}  // namespace quench::quantizers
