#include "shared/matrix/finite.hpp"

#include <ATen/ops/aminmax.h>

#include <atomic>
#include <cmath>

#include "quench/kit/torch.hpp"

namespace quench::matrix {

// Both extremes propagate NaN.
bool all_finite(const at::Tensor& values) {
  std::atomic<bool> finite = true;
  kit::for_row_blocks(values, [&](int64_t first, int64_t count) {
    const auto [low, high] = at::aminmax(values.narrow(0, first, count));
    if (!std::isfinite(low.item<double>()) || !std::isfinite(high.item<double>())) {
      finite = false;
    }
  });
  return finite;
}

}  // namespace quench::matrix
