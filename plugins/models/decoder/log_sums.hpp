// log Σ e^x of rows of logits, in one walk from memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace quench::decoder {

// Of a row: log Σ e^x is peak + log(sum).
struct RowSum {
  double peak;
  double sum;  // of e^(x - peak)
};

// Each row of `logits` [R, V], float32 in host memory, contiguous; exponentials in float32, sums in
// float64 in a fixed order. Only where has_log_sums.
bool has_log_sums(const at::Tensor& logits);
std::vector<RowSum> log_sums(const at::Tensor& logits);

}  // namespace quench::decoder
