// What a kernel rounds blocks of values to. Kernels are templates of it: integer grids here, grids
// of awq's rules in awq/device/ruled_numbers.hpp, number formats in
// number_format/format_numbers.hpp. Each has
//
//   searches()                                   whether several grids of a block are tried
//   try_some(range, value, count, first, stride) the best of the tries first, first + stride, ...
//   chosen(range, tried, value, count)           the block's grid, of the best of all tries
//   code(x, grid), number(code, grid)            the code nearest to x; what a code stands for
//
// where `range` has the extremes of the block's `count` values and value(i) is one of them.
#pragma once

#include "quantizers/grid/search_kernel.hpp"

namespace quench::quantizers {

struct GridNumbers {
  GridKind kind;

  QUENCH_KERNEL bool searches() const { return kind.mse > 0; }
  template <typename Value>
  QUENCH_KERNEL Tried try_some(Range range, const Value& value, int64_t count, int first,
                               int stride) const {
    const Range own = range_of(range.min, range.max, kind);
    return quantizers::searches(own, kind) ? try_steps(value, count, own, kind, first, stride)
                                           : nothing_tried();
  }
  template <typename Value>
  QUENCH_KERNEL Grid chosen(Range range, const Tried& tried, const Value&, int64_t) const {
    return chosen_grid(range_of(range.min, range.max, kind), kind, tried);
  }
  QUENCH_KERNEL double code(double x, const Grid& grid) const {
    return code_of(x, grid.scale, grid.zero, kind.max_code());
  }
  QUENCH_KERNEL double number(double code, const Grid& grid) const {
    return grid.scale * (code - grid.zero);
  }
};

}  // namespace quench::quantizers
