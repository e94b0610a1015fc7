// Clipping grids: tries the ranges p * [low, high] with p = 1, 0.99, ..., 0.21 and chooses the one
// with the least sum of |rounding error|^exponent (Frantar et al.'s code, option `mse`, exponent
// 2.4).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "shared/grid/grid.hpp"

namespace quench::quantizers {

inline constexpr int kSearchSteps = 80;  // number of ranges
inline constexpr int kSearchGrid = 100;  // one step removes 1/kSearchGrid of the full range

// The sum of |value(i) - x|^exponent over i in [0, count), in this order; stops early once it is >=
// `limit`.
template <typename Value>
QUENCH_BOTH double rounding_error(const Value& value, int64_t count, const Grid& grid,
                                  double max_code, double exponent, double limit) {
  constexpr int64_t kRun = 16;  // values between two checks of the limit
  double sum = 0;
  for (int64_t i = 0; i < count && sum < limit;) {
    const int64_t end = i + kRun < count ? i + kRun : count;
    for (; i < end; ++i) {
      const double x = value(i);
      const double code = code_of(x, grid.scale, grid.zero, max_code);
      const double error = std::fabs(grid.scale * (code - grid.zero) - x);
      sum += exponent == 2 ? error * error : std::pow(error, exponent);
    }
  }
  return sum;
}

// The grid of the range that step `step` of the search tries. Its scale is 0 where the range has
// become too small for one, and then so are those of all later steps.
QUENCH_BOTH inline Grid clipped_grid(Range range, int step, GridKind kind) {
  const double part = 1 - static_cast<double>(step) / kSearchGrid;
  return grid_of(Range{part * range.min, part * range.max}, kind);
}

// The grid of `count` values in [low, high]: the full range if kind.mse is 0, otherwise the best
// clipped range (the first on ties). A symmetric grid keeps its zero.
template <typename T>
Grid grid_of_values(const T* values, int64_t stride, int64_t count, double low, double high,
                    GridKind kind) {
  const Range range = range_of(low, high, kind);
  Grid best = grid_of(range, kind);
  if (kind.mse <= 0 || !std::isfinite(best.scale)) {
    return best;
  }
  const auto value = [&](int64_t i) { return static_cast<double>(values[i * stride]); };
  double least = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kSearchSteps; ++step) {
    const Grid grid = clipped_grid(range, step, kind);
    if (!(grid.scale > 0)) {
      break;
    }
    const double error = rounding_error(value, count, grid, kind.max_code(), kind.mse, least);
    if (error < least) {
      least = error;
      best = grid;
    }
  }
  return best;
}

}  // namespace quench::quantizers
