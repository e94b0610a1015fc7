// Rounding to nearest, row by row: what rtn does, and the baseline of other methods.
#pragma once

#include <ATen/core/Tensor.h>

#include "quantizers/grid/coded.hpp"
#include "quantizers/grid/search.hpp"

namespace quench::quantizers {

// Computes scales and zeros of every group of every row of `weight` [rows, columns], and the codes.
void round_rows(const float* weight, Groups groups, GridKind kind, const Coded& coded);
void round_rows(const double* weight, Groups groups, GridKind kind, const Coded& coded);

// The same of a float32 or float64 weight in host memory, with the kernel if `device` is a GPU.
void round_rows(const at::Tensor& weight, at::Device device, Groups groups, GridKind kind,
                const Coded& coded);

// With the kernel, where the weight is: on a GPU as kernels.so has it, in host memory as loops.
CodedThere round_rows_there(const at::Tensor& weight, Groups groups, GridKind kind);
void round_rows_by_kernel(const at::Tensor& weight, Groups groups, GridKind kind,
                          const Coded& coded);
// Likewise, but writes the dequantized weight, where the weight is; `name` is for errors.
void round_rows_into(const at::Tensor& weight, Groups groups, GridKind kind,
                     const at::Tensor& dequantized, const char* name);

}  // namespace quench::quantizers
