#include "models/apertus/xielu.hpp"

#include <ATen/ops/clamp_max.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/where.h>

#include <algorithm>

namespace quench::apertus {

namespace {
constexpr int64_t kPanel = 16;  // rows whose intermediate values exist at once: they stay in cache
}

void apply(const Xielu& xielu, const at::Tensor& x) {
  const at::Tensor positive = at::softplus(xielu.alpha_p);
  const at::Tensor negative = at::softplus(xielu.alpha_n).add_(xielu.beta);
  const int64_t panel = x.is_cpu() ? kPanel : x.size(0);
  for (int64_t first = 0; first < x.size(0); first += panel) {
    at::Tensor rows = x.narrow(0, first, std::min(panel, x.size(0) - first));
    const at::Tensor above = rows.mul(positive).mul_(rows);
    const at::Tensor below = at::clamp_max(rows, xielu.eps).expm1_().sub_(rows).mul_(negative);
    rows.copy_(at::where(rows.gt(0), above, below).add_(rows.mul(xielu.beta)));
  }
}

}  // namespace quench::apertus
