// The magnitudes of input channels, summed over rows, as kernels: a thread takes a column and adds
// its rows in order, so the sums are those of the plain loops to the bit.
#pragma once

#include <cmath>

#include "shared/cuda/block.hpp"

namespace quench::quantizers {

// Adds w_r |x_rc| to sums[c].
template <typename T>
struct AddMagnitudes {
  static constexpr int kThreads = cuda::kWarp;

  const T* values;  // [rows, columns]
  int64_t rows;
  int64_t columns;
  const double* weights;  // [rows], or null: all are 1
  double* sums;           // [columns]

  int64_t blocks() const { return (columns + kThreads - 1) / kThreads; }

  struct Shared {};

  QUENCH_KERNEL void run(cuda::Block& block, Shared&) const {
    block.each([&](int thread) {
      const int64_t c = block.index() * kThreads + thread;
      if (c >= columns) {
        return;
      }
      double sum = sums[c];
      for (int64_t r = 0; r < rows; ++r) {
        const double size = std::fabs(static_cast<double>(values[r * columns + c]));
        sum += weights == nullptr ? size : weights[r] * size;
      }
      sums[c] = sum;
    });
  }
};

// Adds |w_rc| / (m_rg + floor) to sums[c], where m is the largest magnitude of the row's group g
// that column c belongs to.
template <typename T>
struct AddRelativeMagnitudes {
  static constexpr int kThreads = cuda::kWarp;

  const T* weight;  // [rows, columns]
  int64_t rows;
  int64_t columns;
  int64_t group_size;
  int64_t groups;
  const double* largest;  // [rows, groups]
  double floor;
  double* sums;  // [columns]

  int64_t blocks() const { return (columns + kThreads - 1) / kThreads; }

  struct Shared {};

  QUENCH_KERNEL void run(cuda::Block& block, Shared&) const {
    block.each([&](int thread) {
      const int64_t c = block.index() * kThreads + thread;
      if (c >= columns) {
        return;
      }
      double sum = sums[c];
      for (int64_t r = 0; r < rows; ++r) {
        const double size = std::fabs(static_cast<double>(weight[r * columns + c]));
        sum += size / (largest[r * groups + c / group_size] + floor);
      }
      sums[c] = sum;
    });
  }
};

}  // namespace quench::quantizers
