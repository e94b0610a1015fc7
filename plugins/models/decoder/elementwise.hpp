// Elementwise passes over large tensors on all of the host's threads; libtorch would run them on
// one thread.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

// x converted to `type`; x itself if it has that type.
at::Tensor in_type(const at::Tensor& x, at::ScalarType type);

// x itself if values of its last dimension are adjacent, and a copy in C order if not.
at::Tensor with_unit_stride(const at::Tensor& x);

// `to` = `from`, rounded if `to` is narrower. Both have one shape; all of these go row by row.
void copy_rows(const at::Tensor& from, const at::Tensor& to);
// `to` = a + b. `to` may be a or b.
void add_rows(const at::Tensor& a, const at::Tensor& b, const at::Tensor& to);
// A new tensor a + b; differentiable inside an AutogradScope.
at::Tensor sum_of(const at::Tensor& a, const at::Tensor& b);
// A new tensor a * b.
at::Tensor multiply_rows(const at::Tensor& a, const at::Tensor& b);

}  // namespace quench::decoder
