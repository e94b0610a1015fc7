// log Σ e^x of rows of logits, reading each row from memory once.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "models/decoder/row_exponentials.hpp"

namespace quench::decoder {

// One RowSum per row of `logits` [R, V], float32 or float64 in host memory. Exponentials are
// computed in that type and summed in float64 in a fixed order.
std::vector<RowSum> log_sums(const at::Tensor& logits);

}  // namespace quench::decoder
