// Products of dense matrices, for plugins of every kind.
//
// In host memory they are those of kernel.hpp, for every type, size and layout: an element is one
// sum in a fixed order, whatever the number of threads, whatever other rows and columns are made
// with it, and whoever made the processor. AVX-512 and AVX2 give the same bits; the portable form,
// which has no fused multiply-add, gives others. Products of 16-bit floats are products and sums of
// float32, rounded once. On a device they are libtorch's.
//
// Operands have one type. A result overlaps neither of them.
#pragma once

#include <ATen/core/Tensor.h>

#include "shared/matrix/triangle.hpp"

namespace quench::matrix {

// a [m, k] · b [k, n] -> a new [m, n].
at::Tensor product(const at::Tensor& a, const at::Tensor& b);

// to [m, n] = a · b, each row plus `bias` [n], which may be undefined.
void product_into(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b,
                  const at::Tensor& bias = {});

// Adds factor * a · b to `to`, rounded once where `to` is narrower than the sums. `to` may be
// float64 where a and b are float32: products and sums of 256 of them are float32 then, the sum of
// those sums float64.
void add_product(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b, double factor = 1,
                 Triangle triangle = Triangle::kBoth);

// Adds rows' · rows to the upper triangle of the float64 `to` [n, n]; products and sums are float64
// whatever the type of rows [m, n].
void add_float64_square(const at::Tensor& to, const at::Tensor& rows);

}  // namespace quench::matrix
