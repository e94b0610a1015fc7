// Rounding of a matrix to nearest, in place, on the grids of its groups. A warp takes one group of
// one row; extremes do not depend on the order in which they are found, and the arithmetic of
// grid.hpp is compiled from the same source as a processor's.
#pragma once

#include "shared/cuda/block.hpp"
#include "shared/grid/grid.hpp"

namespace quench::optimizers {

struct RoundGroups {
  static constexpr int kWarps = 8;
  static constexpr int kThreads = kWarps * cuda::kWarp;

  float* values;  // [rows, columns], C order
  int64_t rows;
  int64_t columns;
  int64_t group_size;  // consecutive columns; the last group of a row may have fewer
  int64_t groups;      // of a row
  quantizers::GridKind kind;

  int64_t blocks() const { return (rows * groups + kWarps - 1) / kWarps; }

  struct Shared {};
  struct Extremes {
    float low;
    float high;
  };

  QUENCH_KERNEL void run(cuda::Block& block, Shared&) const {
    cuda::PerThread<Extremes, kThreads> extremes;
    block.each([&](int thread) {
      Extremes found{0, 0};  // every range contains 0
      for_own(block, thread, [&](float x) {
        found.low = x < found.low ? x : found.low;
        found.high = x > found.high ? x : found.high;
        return x;
      });
      extremes[thread] = found;
    });
    cuda::combine_warps(block, extremes, [](const Extremes& a, const Extremes& b) {
      return Extremes{a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
    });
    block.each([&](int thread) {
      const auto grid = quantizers::grid_of(extremes[thread].low, extremes[thread].high, kind);
      for_own(block, thread, [&](float x) {
        const double code = quantizers::code_of(x, grid.scale, grid.zero, kind.max_code());
        return static_cast<float>(grid.scale * (code - grid.zero));
      });
    });
  }

 private:
  // Replaces the elements that are a thread's by what `made` makes of them.
  template <typename Made>
  QUENCH_KERNEL void for_own(const cuda::Block& block, int thread, Made made) const {
    const int64_t number = block.index() * kWarps + thread / cuda::kWarp;
    if (number >= rows * groups) {
      return;
    }
    const int64_t from = number % groups * group_size;
    const int64_t to = from + group_size < columns ? from + group_size : columns;
    float* row = values + number / groups * columns;
    for (int64_t c = from + thread % cuda::kWarp; c < to; c += cuda::kWarp) {
      row[c] = made(row[c]);
    }
  }
};

}  // namespace quench::optimizers
