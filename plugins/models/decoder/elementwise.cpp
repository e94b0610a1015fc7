#include "models/decoder/elementwise.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>

#include "quench/kit/torch.hpp"

namespace quench::decoder {

at::Tensor in_type(const at::Tensor& x, at::ScalarType type) {
  if (x.scalar_type() == type) {
    return x;
  }
  const at::Tensor made = at::empty(x.sizes(), x.options().dtype(type));
  copy_rows(x, made);
  return made;
}

void copy_rows(const at::Tensor& from, const at::Tensor& to) {
  kit::for_row_blocks(to, [&](int64_t first, int64_t count) {
    to.narrow(0, first, count).copy_(from.narrow(0, first, count));
  });
}

void add_rows(const at::Tensor& a, const at::Tensor& b, const at::Tensor& to) {
  kit::for_row_blocks(to, [&](int64_t first, int64_t count) {
    at::Tensor rows = to.narrow(0, first, count);
    at::add_out(rows, a.narrow(0, first, count), b.narrow(0, first, count));
  });
}

at::Tensor multiply_rows(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor made = at::empty_like(a);
  kit::for_row_blocks(made, [&](int64_t first, int64_t count) {
    at::Tensor rows = made.narrow(0, first, count);
    at::mul_out(rows, a.narrow(0, first, count), b.narrow(0, first, count));
  });
  return made;
}

}  // namespace quench::decoder
