// The half-quadratic solver as a kernel: a thread takes one group of one row. Its sums run over the
// group's values in order, so scales, zeros and codes are those of the plain loop to the bit, as
// far as pow() is: CUDA's differs from a processor's library in the last places.
#pragma once

#include "quantizers/hqq/half_quadratic.hpp"
#include "shared/cuda/block.hpp"

namespace quench::quantizers {

// The grids of a matrix [rows, columns], C order, in groups of `group_size` consecutive columns,
// and the codes.
template <typename T>
struct SolveRows {
  static constexpr int kThreads = 4 * cuda::kWarp;

  const T* weight;
  int64_t rows;
  int64_t columns;
  int64_t group_size;
  int64_t groups;
  int64_t bits;
  HalfQuadratic options;
  uint8_t* codes;  // [rows, columns]
  double* scales;  // [rows, groups]
  double* zeros;   // [rows, groups]

  int64_t blocks() const { return (rows * groups + kThreads - 1) / kThreads; }

  struct Shared {};

  QUENCH_KERNEL void run(cuda::Block& block, Shared&) const {
    block.each([&](int thread) {
      const int64_t number = block.index() * kThreads + thread;
      if (number < rows * groups) {
        solve(number);
      }
    });
  }

 private:
  QUENCH_KERNEL void solve(int64_t number) const {
    const int64_t from = number % groups * group_size;
    const int64_t past = from + group_size;
    const int64_t count = (past < columns ? past : columns) - from;
    const int64_t first = number / groups * columns + from;
    const std::span<const T> values(weight + first, static_cast<size_t>(count));
    const Grid grid = solve_group<T>(values, bits, options);
    scales[number] = grid.scale;
    zeros[number] = grid.zero;
    const double max_code = GridKind{bits, false}.max_code();
    for (int64_t i = 0; i < count; ++i) {
      const double code =
          half_quadratic_code(static_cast<double>(weight[first + i]), grid, max_code);
      codes[first + i] = static_cast<uint8_t>(static_cast<int32_t>(code));
    }
  }
};

}  // namespace quench::quantizers
