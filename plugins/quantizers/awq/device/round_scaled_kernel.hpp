// Rounding of a weight whose input channels are scaled, as a kernel: errors, codes and grids of
// every group of every row. A warp takes one group of one row. Numbers: what is rounded to
// (grid/grid_numbers.hpp).
//
// All of it is to the bit what rounding.hpp gives: the arithmetic of a value stands in the same
// order, and extremes do not depend on the order in which they are found. Those of clipped values
// are the clipped extremes, so for a grid the values are read twice, not three times.
#pragma once

#include <limits>

#include "quantizers/awq/device/ruled_numbers.hpp"
#include "shared/cuda/block.hpp"

namespace quench::quantizers {

// A matrix [rows, columns], C order, in groups of `group_size` consecutive columns. What is null
// is not written.
template <typename T, typename Numbers = RuledNumbers>
struct RoundScaled {
  static constexpr int kWarps = 8;
  static constexpr int kThreads = kWarps * cuda::kWarp;

  const T* weight;
  int64_t rows;
  int64_t columns;
  int64_t group_size;
  int64_t groups;
  Numbers numbers;
  const double* scale;   // [columns]
  const double* limits;  // [rows, groups], the largest |w * s|; or null
  double part;           // without limits: the share of its largest |w * s| to which a group is
                         // clipped; 0: none is
  float* errors;         // [rows, columns], w - value
  uint8_t* codes;        // [rows, columns]
  double* scales;        // [rows, groups], with `codes`
  double* zeros;         // [rows, groups], with `codes`
  double* magnitudes;    // [rows, groups], the largest |w * s|

  int64_t blocks() const { return (rows * groups + kWarps - 1) / kWarps; }

  struct Shared {};
  struct Extremes {
    double low;
    double high;
  };

  QUENCH_KERNEL void run(cuda::Block& block, Shared&) const {
    cuda::PerThread<Extremes, kThreads> extremes;
    block.each([&](int thread) {
      const Part at = part_of(block, thread);
      Extremes found{std::numeric_limits<double>::infinity(),
                     -std::numeric_limits<double>::infinity()};
      for (int64_t c = at.from + at.lane; c < at.to; c += cuda::kWarp) {
        const double x = static_cast<double>(weight[at.row * columns + c]) * scale[c];
        found.low = x < found.low ? x : found.low;
        found.high = x > found.high ? x : found.high;
      }
      extremes[thread] = found;
    });
    cuda::combine_warps(block, extremes, [](const Extremes& a, const Extremes& b) {
      return Extremes{a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
    });
    cuda::PerThread<Tried, kThreads> tried;
    if (searches()) {
      block.each([&](int thread) {
        const Part at = part_of(block, thread);
        const double limit = limit_of(at, extremes[thread]);
        tried[thread] = numbers.try_some(
            clipped(extremes[thread], limit), [&](int64_t i) { return value(at, i, limit); },
            at.to - at.from, at.lane, cuda::kWarp);
      });
      cuda::combine_warps(block, tried,
                          [](const Tried& a, const Tried& b) { return better(a, b); });
    }
    block.each([&](int thread) {
      const Part at = part_of(block, thread);
      if (at.from < at.to) {
        round(at, extremes[thread], searches() ? tried[thread] : nothing_tried());
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

  QUENCH_KERNEL bool searches() const {
    return numbers.searches() && (codes != nullptr || errors != nullptr);
  }

  QUENCH_KERNEL static double clipped(double x, double limit) {
    const double below = x < limit ? x : limit;
    return below > -limit ? below : -limit;
  }

  QUENCH_KERNEL static Range clipped(const Extremes& extremes, double limit) {
    return {clipped(extremes.low, limit), clipped(extremes.high, limit)};
  }

  QUENCH_KERNEL static double largest(const Extremes& extremes) {
    const double below = std::fabs(extremes.low);
    const double above = std::fabs(extremes.high);
    return below < above ? above : below;
  }

  QUENCH_KERNEL double limit_of(const Part& at, const Extremes& extremes) const {
    return limits != nullptr && at.from < at.to ? limits[at.row * groups + at.group]
           : part > 0                           ? part * largest(extremes)
                                                : std::numeric_limits<double>::infinity();
  }

  // The i-th value of the group.
  QUENCH_KERNEL double value(const Part& at, int64_t i, double limit) const {
    const int64_t c = at.from + i;
    return clipped(static_cast<double>(weight[at.row * columns + c]) * scale[c], limit);
  }

  QUENCH_KERNEL void round(const Part& at, const Extremes& extremes, const Tried& tried) const {
    const int64_t place = at.row * groups + at.group;
    const double limit = limit_of(at, extremes);
    const Grid grid = numbers.chosen(
        clipped(extremes, limit), tried, [&](int64_t i) { return value(at, i, limit); },
        at.to - at.from);
    if (at.lane == 0 && magnitudes != nullptr) {
      magnitudes[place] = largest(extremes);
    }
    if (at.lane == 0 && codes != nullptr) {
      scales[place] = grid.scale;
      zeros[place] = grid.zero;
    }
    for (int64_t c = at.from + at.lane; c < at.to; c += cuda::kWarp) {
      const double w = static_cast<double>(weight[at.row * columns + c]);
      const double code = numbers.code(clipped(w * scale[c], limit), grid);
      if (codes != nullptr) {
        codes[at.row * columns + c] = static_cast<uint8_t>(static_cast<int32_t>(code));
      }
      if (errors != nullptr) {
        errors[at.row * columns + c] =
            static_cast<float>(w - numbers.number(code, grid) / scale[c]);
      }
    }
  }
};

}  // namespace quench::quantizers
