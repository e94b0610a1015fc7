// Products of float32 matrices for training.
//
// libtorch's own use half-width vectors on AMD processors; where those have AVX-512, the kernel
// here is about twice as fast on matrices as narrow as a small model's. Which one is used depends
// on the processor alone. Each element is one sum in a fixed order, whatever the number of threads.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

// Whether products of these matrices go through the kernel here: float32 in host memory, unit
// stride along one dimension, on such a processor.
bool has_kernel_for(const at::Tensor& a, const at::Tensor& b);

// a [m, k] · b [k, n]; operands of other kinds are libtorch's.
at::Tensor product(const at::Tensor& a, const at::Tensor& b);
// Adds a · b to `to` [m, n].
void add_product_to(at::Tensor to, const at::Tensor& a, const at::Tensor& b);

}  // namespace quench::decoder
