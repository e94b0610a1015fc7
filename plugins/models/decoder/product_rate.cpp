// The reference rate for a training's speed.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <chrono>

#include "models/decoder/decoder.hpp"
#include "shared/matrix/product.hpp"

namespace quench::decoder {

double Decoder::product_rate(uint32_t flags) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kSize = 1024;
  constexpr double kOperations = 2.0 * kSize * kSize * kSize;
  constexpr double kSeconds = 0.2;  // time to spend
  const at::NoGradGuard no_gradients;
  const at::Tensor a = at::ones(
      {kSize, kSize},
      at::TensorOptions((flags & QUENCH_LOSS_AUTOCAST_BFLOAT16) != 0 ? at::kBFloat16 : dtype_)
          .device(device_));
  matrix::product(a, a);  // the first product allocates buffers and compiles kernels
  double best = 0;
  double spent = 0;
  while (spent < kSeconds) {
    const Clock::time_point start = Clock::now();
    const at::Tensor made = matrix::product(a, a);
    made.select(0, 0).select(0, 0).item<float>();  // waits for the device
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, kOperations / seconds);
    spent += seconds;
  }
  return best;
}

}  // namespace quench::decoder
