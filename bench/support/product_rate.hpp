// The yardsticks of benchmarks that are not themselves built on libtorch.
#pragma once

namespace quench::bench {

void set_product_threads(int threads);

// Operations a second of processor time.
struct ProductRate {
  double used;      // of the products that plugins use (plugins/shared/matrix)
  double libtorch;  // of at::mm
};

// Of two 2048 x 2048 matrices, the best of three, in float64 or float32. Ours runs on one thread.
ProductRate product_rate(bool float64);

}  // namespace quench::bench
