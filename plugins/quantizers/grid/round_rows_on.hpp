// Runs the kernel of round_rows_kernel.hpp where a weight is, whatever it rounds to.
#pragma once

#include <ATen/core/Tensor.h>

#include "quantizers/grid/coded.hpp"
#include "quantizers/grid/round_rows_kernel.hpp"
#include "shared/cuda/run_kernel.hpp"

namespace quench::quantizers {

// Codes, scales and zeros of `weight` [rows, columns], C order: by the function `entry` of
// kernels.so, which is the one for T and Numbers, or as loops in host memory.
template <typename T, typename Numbers>
CodedThere round_rows_on(const at::Tensor& weight, Groups groups, const Numbers& numbers,
                         const char* entry) {
  CodedThere made(weight, groups);
  const RoundRows<T, Numbers> kernel{weight.const_data_ptr<T>(),
                                     weight.size(0),
                                     weight.size(1),
                                     groups.size,
                                     groups.count,
                                     numbers,
                                     nullptr,
                                     made.codes.data_ptr<uint8_t>(),
                                     made.scales.data_ptr<double>(),
                                     made.zeros.data_ptr<double>(),
                                     groups.count,
                                     1};
  cuda::run_kernel(entry, kernel, weight.device());
  return made;
}

}  // namespace quench::quantizers
