// The inverse root of one of Shampoo's factors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace quench::optimizers {

// Writes (scale·P + εI)^(−1/root) over the float32 `out` [size, size], from the eigenvalues of the
// symmetric float64 P [size, size], of which only the upper triangle is read. An eigenvalue that
// rounding made negative counts as 0. Throws NUMERICAL where P has a value that is not finite, or
// where the result has none because ε is 0.
void inverse_root(std::span<const double> p, int64_t size, double scale, double epsilon,
                  double root, std::span<float> out);

}  // namespace quench::optimizers
