// log Σ e^x of rows of logits, in one walk from memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "models/decoder/row_exponentials.hpp"

namespace quench::decoder {

// Each row of `logits` [R, V], float32 or float64 in host memory; exponentials in that type, sums
// in float64 in a fixed order.
std::vector<RowSum> log_sums(const at::Tensor& logits);

}  // namespace quench::decoder
