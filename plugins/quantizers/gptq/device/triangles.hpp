// What is done to float64 triangles that are too large to have twice, by libtorch's operations.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace quench::quantizers {

// A lower triangle [n, n] with zeros above it becomes its inverse. `block`: a power of two from 32
// on; 3 n `block` numbers are needed beside it.
void invert_lower_on_device(const at::Tensor& lower, int64_t block = 512);

// A becomes J Aᵀ J: element [i, j] changes places with [n - 1 - j, n - 1 - i]. 2 `tile`² numbers
// are needed beside it.
void reverse_and_transpose_in_place(const at::Tensor& matrix, int64_t tile = 4096);

}  // namespace quench::quantizers
