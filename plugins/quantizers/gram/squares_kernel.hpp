// The squares of a matrix's columns, summed over rows, as a kernel: a thread takes a column and
// adds its rows in order, so the sums do not depend on the device.
#pragma once

#include <cstdint>

#include "shared/cuda/block.hpp"

namespace quench::quantizers {

template <typename T>
struct ColumnSquares {
  static constexpr int kThreads = cuda::kWarp;

  const T* values;  // [rows, columns]
  int64_t rows;
  int64_t columns;
  double* sums;  // [columns]

  int64_t blocks() const { return (columns + kThreads - 1) / kThreads; }

  struct Shared {};

  QUENCH_KERNEL void run(cuda::Block& block, Shared&) const {
    block.each([&](int thread) {
      const int64_t c = block.index() * kThreads + thread;
      if (c >= columns) {
        return;
      }
      double sum = 0;
      for (int64_t r = 0; r < rows; ++r) {
        const double value = static_cast<double>(values[r * columns + c]);
        sum += value * value;
      }
      sums[c] = sum;
    });
  }
};

}  // namespace quench::quantizers
