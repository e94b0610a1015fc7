// Integer grids of a published tool's rule as kernels round to them (grid/grid_numbers.hpp): one
// grid of a block, from its extremes.
#pragma once

#include "quantizers/awq/grid_rule.hpp"
#include "quantizers/grid/search_kernel.hpp"

namespace quench::quantizers {

struct RuledNumbers {
  GridKind kind;
  GridRule rule;

  QUENCH_KERNEL bool searches() const { return false; }
  template <typename Value>
  QUENCH_KERNEL Tried try_some(Range, const Value&, int64_t, int, int) const {
    return nothing_tried();
  }
  template <typename Value>
  QUENCH_KERNEL Grid chosen(Range range, const Tried&, const Value&, int64_t) const {
    return grid_of_extremes(range.min, range.max, kind, rule);
  }
  QUENCH_KERNEL double code(double x, const Grid& grid) const {
    return code_of(x, grid.scale, grid.zero, kind.max_code());
  }
  QUENCH_KERNEL double number(double code, const Grid& grid) const {
    return grid.scale * (code - grid.zero);
  }
};

}  // namespace quench::quantizers
