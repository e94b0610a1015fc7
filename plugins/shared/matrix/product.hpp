// Products of dense matrices, for plugins of every kind.
//
// In host memory, kernel.hpp computes them for every type, size and layout. An element is one sum
// in a fixed order; its bits do not depend on the number of threads, on the other rows and columns
// of the product, or on the processor's vendor. AVX-512 and AVX2 give the same bits. The portable
// version has no fused multiply-add and gives others. 16-bit floats are multiplied and summed in
// float32 and rounded once. On a device, libtorch computes the products.
//
// Both operands have one type. The result must not overlap either of them.
#pragma once

#include <ATen/core/Tensor.h>

#include "shared/matrix/triangle.hpp"

namespace quench::matrix {

// a [m, k] · b [k, n] -> a new [m, n].
at::Tensor product(const at::Tensor& a, const at::Tensor& b);

// to [m, n] = a · b, plus `bias` [n] on each row. The bias may be undefined.
void product_into(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b,
                  const at::Tensor& bias = {});

// Adds factor * a · b to `to`, and rounds once if `to` is narrower than the sums. `to` may be
// float64 when a and b are float32: then products are summed 256 at a time in float32, and those
// sums are added in float64.
void add_product(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b, double factor = 1,
                 Triangle triangle = Triangle::kBoth);

// Adds rowsᵀ · rows to the upper triangle of the float64 `to` [n, n]. Products and sums are float64
// for every type of rows [m, n].
void add_float64_square(const at::Tensor& to, const at::Tensor& rows);

}  // namespace quench::matrix
