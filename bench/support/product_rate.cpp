#include "bench/support/product_rate.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>

#include <algorithm>

#include "bench/support/timing.hpp"

namespace quench::bench {

void set_product_threads(int threads) {
  at::set_num_threads(threads);
}

double product_rate(bool float64) {
  constexpr int64_t kSize = 2048;
  const at::Tensor a =
      at::ones({kSize, kSize}, at::TensorOptions(float64 ? at::kDouble : at::kFloat));
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const double seconds = processor_seconds([&] { at::mm(a, a); });
    best = std::max(best, 2.0 * kSize * kSize * kSize / seconds);
  }
  return best;
}

}  // namespace quench::bench
