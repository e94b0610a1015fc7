#include "models/decoder/linear.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <utility>

#include "quench/kit/torch.hpp"

namespace quench::decoder {

Linear::Linear(at::Tensor weight, at::Tensor bias)
    : weight_(std::move(weight)), bias_(std::move(bias)) {}

Linear::Linear(Linear&& other) noexcept
    : weight_(std::move(other.weight_)),
      bias_(std::move(other.bias_)),
      op_(std::exchange(other.op_, quench_linear_op{})) {}

Linear::~Linear() {
  set_op(nullptr);
}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  // What a replacement sees lies in the host's memory.
  const bool for_host = op_.apply != nullptr && x.is_cpu();
  at::Tensor y = for_host ? kit::host_empty({x.size(0), out_features()}, x.scalar_type())
                          : at::empty({x.size(0), out_features()}, x.options());
  into(x, y);
  return y;
}

void Linear::into(const at::Tensor& x, const at::Tensor& y) const {
  at::Tensor result = y;
  if (op_.apply != nullptr) {
    const quench_tensor from = kit::view_of(x);
    const quench_tensor to = kit::view_of(result);
    quench_error error{sizeof error, 0, {}};
    kit::check(op_.apply(op_.context, &from, &to, nullptr, &error), error);
    if (bias_.defined()) {
      result.add_(bias_);
    }
  } else if (bias_.defined()) {
    at::addmm_out(result, bias_, x, weight_.t());
  } else {
    at::mm_out(result, x, weight_.t());
  }
}

void Linear::set_op(const quench_linear_op* op) {
  if (op_.apply != nullptr && op_.release != nullptr) {
    op_.release(op_.context);
  }
  op_ = op != nullptr ? *op : quench_linear_op{};
}

}  // namespace quench::decoder
