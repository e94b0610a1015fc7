#include "bench/support/product_rate.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>

#include <algorithm>

#include "bench/support/timing.hpp"
#include "quench/kit/host.hpp"
#include "shared/matrix/product.hpp"

namespace quench::bench {

void set_product_host(const quench_host* host, int threads) {
  kit::current_host = host;
  at::set_num_threads(threads);
}

ProductRate product_rate(bool float64) {
  constexpr int64_t kSize = 2048;
  constexpr double kOperations = 2.0 * kSize * kSize * kSize;
  const at::Tensor a =
      at::rand({kSize, kSize}, at::TensorOptions(float64 ? at::kDouble : at::kFloat));
  ProductRate best{0, 0};
  for (int i = 0; i < 3; ++i) {
    best.used =
        std::max(best.used, kOperations / processor_seconds([&] { matrix::product(a, a); }));
    best.libtorch = std::max(best.libtorch, kOperations / processor_seconds([&] { at::mm(a, a); }));
  }
  return best;
}

}  // namespace quench::bench
