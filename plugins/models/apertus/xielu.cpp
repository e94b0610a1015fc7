#include "models/apertus/xielu.hpp"

#include <ATen/ops/clamp_max.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/where.h>

#include "models/decoder/autograd_scope.hpp"
#include "quench/kit/torch.hpp"

namespace quench::apertus {

namespace {

// Expands the coefficients to a row first, so that their derivative is summed down the columns and
// then over the row. One sum over all of x would be split by the number of threads.
at::Tensor recorded(const Xielu& xielu, const at::Tensor& x) {
  const auto row = [&](const at::Tensor& alpha) {
    return at::softplus(decoder::tracked(alpha)).expand({1, x.size(1)});
  };
  const at::Tensor positive = row(xielu.alpha_p);
  const at::Tensor negative = row(xielu.alpha_n).add(xielu.beta);
  const at::Tensor above = x.mul(positive).mul(x);
  const at::Tensor below = at::clamp_max(x, xielu.eps).expm1().sub(x).mul(negative);
  return at::where(x.gt(0), above, below).add(x.mul(xielu.beta));
}

}  // namespace

at::Tensor apply(const Xielu& xielu, at::Tensor x) {
  if (decoder::recording()) {
    return recorded(xielu, x);
  }
  const at::Tensor positive = at::softplus(xielu.alpha_p);
  const at::Tensor negative = at::softplus(xielu.alpha_n).add_(xielu.beta);
  kit::for_row_blocks(x, [&](int64_t first, int64_t count) {
    at::Tensor rows = x.narrow(0, first, count);
    const at::Tensor above = rows.mul(positive).mul_(rows);
    const at::Tensor below = at::clamp_max(rows, xielu.eps).expm1_().sub_(rows).mul_(negative);
    rows.copy_(at::where(rows.gt(0), above, below).add_(rows.mul(xielu.beta)));
  });
  return x;
}

}  // namespace quench::apertus
