#include "models/decoder/elementwise.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/decoder/autograd_scope.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::decoder {

namespace {

// a + b on all of the host's threads. Its backward is linear, so it can be differentiated again.
struct Sum : torch::autograd::Function<Sum> {
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& a,
                            const at::Tensor& b) {
    at::Tensor made = at::empty_like(a);
    add_rows(a, b, made);
    return made;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0], gradients[0]};
  }
};

}  // namespace

at::Tensor in_type(const at::Tensor& x, at::ScalarType type) {
  if (x.scalar_type() == type) {
    return x;
  }
  const at::Tensor made = at::empty(x.sizes(), x.options().dtype(type));
  copy_rows(x, made);
  return made;
}

at::Tensor with_unit_stride(const at::Tensor& x) {
  return x.stride(-1) == 1 ? x : x.contiguous();
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

at::Tensor sum_of(const at::Tensor& a, const at::Tensor& b) {
  const bool alike = a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes();
  return trains() && alike && matrix::on_host(a) ? Sum::apply(a, b) : a.add(b);
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
