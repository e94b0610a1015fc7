// The yardsticks of benchmarks that are not themselves built on libtorch.
#pragma once

#include "quench/abi/host.h"

namespace quench::bench {

// The host whose threads and instruction set our products use, and libtorch's threads.
void set_product_host(const quench_host* host, int threads);

// Operations a second of processor time.
struct ProductRate {
  double used;      // of the products that plugins use (plugins/shared/matrix)
  double libtorch;  // of at::mm
};

// Of two 2048 x 2048 matrices, the best of three, in float64 or float32.
ProductRate product_rate(bool float64);

}  // namespace quench::bench
