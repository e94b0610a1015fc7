// Rounding to nearest as a kernel: the grids of every group of every row, and the codes. A warp
// takes one group of one row. Numbers: what is rounded to (grid_numbers.hpp).
//
// Scales, zeros and codes are those of round_rows(), and of a number format those of
// round_to_format(), to the bit: extremes do not depend on the order
// in which they are found, each step of a search is summed by one thread in that function's order,
// and the arithmetic of grid.hpp is compiled from the same source.
#pragma once

#include "quantizers/grid/grid_numbers.hpp"
#include "shared/cuda/block.hpp"

namespace quench::quantizers {

// The grids of a matrix [rows, columns], C order, in groups of `group_size` consecutive columns.
template <typename T, typename Numbers = GridNumbers>
struct RoundRows {
  static constexpr int kWarps = 8;
  static constexpr int kThreads = kWarps * cuda::kWarp;

  const T* weight;
  int64_t rows;
  int64_t columns;
  int64_t group_size;
  int64_t groups;
  Numbers numbers;
  const uint8_t* dead;  // [columns], columns that count as 0; or null
  uint8_t* codes;       // [rows, columns]; or null: only the grids
  double* scales;       // that of row r and group g is at r * row_stride + g * group_stride
  double* zeros;
  int64_t row_stride;
  int64_t group_stride;

  int64_t blocks() const { return (rows * groups + kWarps - 1) / kWarps; }

  struct Shared {};
  struct Extremes {
    double low;
    double high;
  };

  QUENCH_KERNEL double value(int64_t row, int64_t column) const {
    const bool is_dead = dead != nullptr && dead[column] != 0;
    return is_dead ? 0 : static_cast<double>(weight[row * columns + column]);
  }

  QUENCH_KERNEL void run(cuda::Block& block, Shared&) const {
    cuda::PerThread<Extremes, kThreads> extremes;
    block.each([&](int thread) {
      const Part part = part_of(block, thread);
      Extremes found{0, 0};
      for (int64_t c = part.from + part.lane; c < part.to; c += cuda::kWarp) {
        const double x = value(part.row, c);
        found.low = x < found.low ? x : found.low;
        found.high = x > found.high ? x : found.high;
      }
      extremes[thread] = found;
    });
    cuda::combine_warps(block, extremes, [](const Extremes& a, const Extremes& b) {
      return Extremes{a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
    });
    cuda::PerThread<Tried, kThreads> tried;
    if (numbers.searches()) {
      block.each(
          [&](int thread) { tried[thread] = search(part_of(block, thread), extremes[thread]); });
      cuda::combine_warps(block, tried,
                          [](const Tried& a, const Tried& b) { return better(a, b); });
    }
    block.each([&](int thread) {
      const Part part = part_of(block, thread);
      if (part.from == part.to) {
        return;
      }
      const Grid grid = numbers.chosen(
          Range{extremes[thread].low, extremes[thread].high},
          numbers.searches() ? tried[thread] : nothing_tried(),
          [&](int64_t i) { return value(part.row, part.from + i); }, part.to - part.from);
      if (part.lane == 0) {
        const int64_t at = part.row * row_stride + part.group * group_stride;
        scales[at] = grid.scale;
        zeros[at] = grid.zero;
      }
      for (int64_t c = part.from + part.lane; c < part.to && codes != nullptr; c += cuda::kWarp) {
        const double code = numbers.code(value(part.row, c), grid);
        codes[part.row * columns + c] = static_cast<uint8_t>(static_cast<int32_t>(code));
      }
    });
  }

 private:
  // The columns [from, to) of a row: a warp's. None past the last group.
  struct Part {
    int64_t row;
    int64_t group;
    int64_t from;
    int64_t to;
    int lane;
  };

  QUENCH_KERNEL Part part_of(const cuda::Block& block, int thread) const {
    const int64_t number = block.index() * kWarps + thread / cuda::kWarp;
    const int lane = thread % cuda::kWarp;
    if (number >= rows * groups) {
      return {0, 0, 0, 0, lane};
    }
    const int64_t group = number % groups;
    const int64_t from = group * group_size;
    const int64_t to = from + group_size < columns ? from + group_size : columns;
    return {number / groups, group, from, to, lane};
  }

  QUENCH_KERNEL Tried search(const Part& part, const Extremes& extremes) const {
    const auto value_at = [&](int64_t i) { return value(part.row, part.from + i); };
    return numbers.try_some(Range{extremes.low, extremes.high}, value_at, part.to - part.from,
                            part.lane, cuda::kWarp);
  }
};

}  // namespace quench::quantizers
