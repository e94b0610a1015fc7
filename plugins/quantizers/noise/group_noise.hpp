// The noise of one group of a row, for the host and for kernels.
#pragma once

#include <cmath>
#include <cstdint>

#include "shared/cuda/both.hpp"

namespace quench::quantizers {

// Writes weight + f * noise for `count` values, where f makes the noise `length` times as long as
// the error of rounding the weight to scale * (code - zero). In float64, in the order of columns.
template <typename T>
QUENCH_BOTH void add_group_noise(const T* weight, const uint8_t* codes, double scale, double zero,
                                 const double* noise, int64_t count, double length, T* out) {
  double error = 0;
  double drawn = 0;
  for (int64_t c = 0; c < count; ++c) {
    const double value = scale * (codes[c] - zero);
    error += (value - weight[c]) * (value - weight[c]);
    drawn += noise[c] * noise[c];
  }
  const double factor = error > 0 ? length * std::sqrt(error / drawn) : 0;
  for (int64_t c = 0; c < count; ++c) {
    out[c] = static_cast<T>(weight[c] + factor * noise[c]);
  }
}

}  // namespace quench::quantizers
