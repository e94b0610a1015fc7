// Products of dense matrices, for plugins of every kind.
//
// libtorch's own use half-width vectors on AMD processors; where those have AVX-512, the kernels
// here (kernel.hpp) are about twice as fast. Which ones are used depends on the processor, the
// types and the shapes alone: float32 or float64 in host memory, unit stride along one dimension.
// Everything else is libtorch's. An element is one sum in a fixed order, whatever the number of
// threads and whatever other rows and columns are made with it.
#pragma once

#include <ATen/core/Tensor.h>

#include "shared/matrix/part.hpp"

namespace quench::matrix {

// Whether this processor has the kernels: an AMD processor with AVX-512.
bool has_processor();

// Whether products of these matrices go through the kernels here.
bool has_kernel_for(const at::Tensor& a, const at::Tensor& b);

// a [m, k] · b [k, n] -> a new [m, n].
at::Tensor product(const at::Tensor& a, const at::Tensor& b);

// to [m, n] = a · b, each row plus `bias` [n], which may be undefined. `to` has unit stride along
// its rows' elements and overlaps neither a nor b.
void product_into(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b,
                  const at::Tensor& bias = {});

// Adds factor * a · b to `to`, likewise. `to` may be float64 where a and b are float32: products
// and sums of 256 of them are float32 then, the sum of those sums float64.
void add_product(const at::Tensor& to, const at::Tensor& a, const at::Tensor& b, double factor = 1,
                 Part part = Part::kAll);

// Adds rows' · rows to the upper triangle of the float64 `to` [n, n]; products and sums are float64
// whatever the type of rows [m, n].
void add_float64_square(const at::Tensor& to, const at::Tensor& rows);

}  // namespace quench::matrix
