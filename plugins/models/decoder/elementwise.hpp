// Passes over the elements of large tensors, on the host's threads: libtorch would make them on
// one.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::decoder {

// x in `type`, x itself where it is in it.
at::Tensor in_type(const at::Tensor& x, at::ScalarType type);

// Of tensors of one shape, row by row: `to` = `from`, rounded where `to` is narrower.
void copy_rows(const at::Tensor& from, const at::Tensor& to);
// `to` = a + b; `to` may be one of them.
void add_rows(const at::Tensor& a, const at::Tensor& b, const at::Tensor& to);
// A new tensor a * b.
at::Tensor multiply_rows(const at::Tensor& a, const at::Tensor& b);

}  // namespace quench::decoder
