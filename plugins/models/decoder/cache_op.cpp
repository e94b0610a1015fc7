#include "models/decoder/cache_op.hpp"

#include <ATen/ops/empty.h>

#include <utility>

#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/differentiable.hpp"
#include "quench/kit/error.hpp"
#include "quench/kit/torch.hpp"

namespace quench::decoder {

namespace {

// A copy [N, heads, D] that the op may change; of host memory one that its process can write, too.
at::Tensor handed_over(const at::Tensor& x) {
  const at::Tensor copy =
      x.is_cpu() ? kit::host_empty(x.sizes(), x.scalar_type()) : at::empty(x.sizes(), x.options());
  copy.copy_(x.detach());
  return copy.view({x.size(0) * x.size(1), x.size(2), x.size(3)});
}

}  // namespace

CacheOp::CacheOp(CacheOp&& other) noexcept : op_(std::exchange(other.op_, quench_cache_op{})) {}

CacheOp::~CacheOp() {
  set(nullptr);
}

void CacheOp::set(const quench_cache_op* op) {
  if (op_.apply != nullptr && op_.release != nullptr) {
    op_.release(op_.context);
  }
  op_ = op != nullptr ? *op : quench_cache_op{};
}

CacheOp::Kept CacheOp::operator()(const at::Tensor& k, const at::Tensor& v,
                                  const Batch& batch) const {
  const at::Tensor keys = handed_over(k);
  const at::Tensor values = handed_over(v);
  const quench_tensor keys_view = kit::view_of(keys);
  const quench_tensor values_view = kit::view_of(values);
  const quench_cache_args args = {sizeof args, 0, &keys_view, &values_view, batch.given(), nullptr};
  quench_error error{sizeof error, 0, {}};
  kit::check(op_.apply(op_.context, &args, &error), error);
  const Kept kept = {keys.view(k.sizes()), values.view(v.sizes())};
  if (!recording()) {
    return kept;
  }
  return {straight_through(k, kept.keys), straight_through(v, kept.values)};
}

}  // namespace quench::decoder
