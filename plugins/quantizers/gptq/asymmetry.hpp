// GPTAQ (Li et al. 2025, arXiv 2504.02692) corrects for the difference between the float model's
// inputs X~ and the quantized model's inputs X.
#pragma once

#include <ATen/core/Tensor.h>

#include "quantizers/gptq/factor.hpp"

namespace quench::quantizers {

// Sets factor.correction to P = alpha * triu(D U', 1) U with D = 2/rows * (X~ - X)'X in the order
// of factor.perm. When the column loop rounds column i, whose value is w, it then also adds w *
// P[i, i:] to later columns: the part of (X~ - X) w that they can still compensate. `cross` is (X~
// - X)'X [in, in] in float64 and in original column order.
void add_correction(Factor& factor, const at::Tensor& cross, double rows, double alpha);

}  // namespace quench::quantizers
