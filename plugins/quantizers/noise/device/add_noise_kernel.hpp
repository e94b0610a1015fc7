// Noise as long as the rounding error, added as a kernel: a thread takes one group of one row, so
// that its sums have the order of the host's loop, and runs the same function of a group.
#pragma once

#include "quantizers/noise/group_noise.hpp"
#include "shared/cuda/block.hpp"

namespace quench::quantizers {

// Matrices [rows, columns], C order, in groups of `group_size` consecutive columns.
template <typename T>
struct AddNoise {
  static constexpr int kThreads = 2 * cuda::kWarp;

  const T* weight;
  int64_t rows;
  int64_t columns;
  int64_t group_size;
  int64_t groups;
  const uint8_t* codes;
  const double* scales;  // [rows, groups]
  const double* zeros;   // [rows, groups]
  const double* noise;   // of mean 0 and any length
  double length;         // of the noise that is added, as a multiple of the rounding error's
  T* out;

  int64_t blocks() const { return (rows * groups + kThreads - 1) / kThreads; }

  struct Shared {};

  QUENCH_KERNEL void run(cuda::Block& block, Shared&) const {
    block.each([&](int thread) {
      const int64_t number = block.index() * kThreads + thread;
      if (number >= rows * groups) {
        return;
      }
      const int64_t first = number % groups * group_size;
      const int64_t count = first + group_size < columns ? group_size : columns - first;
      const int64_t at = number / groups * columns + first;
      add_group_noise(weight + at, codes + at, scales[number], zeros[number], noise + at, count,
                      length, out + at);
    });
  }
};

}  // namespace quench::quantizers
