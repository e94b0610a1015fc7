// The yardstick of benchmarks that are not themselves built on libtorch.
#pragma once

namespace quench::bench {

void set_product_threads(int threads);
// Operations a second of processor time of libtorch's product of two 2048 x 2048 matrices, the best
// of three, in float64 or float32.
double product_rate(bool float64);

}  // namespace quench::bench
