// The search of search.hpp shared out to the threads of a block: each tries some of the steps, and
// the best of all is chosen at the end. The sums run over a group's values in the order of
// search.hpp, one thread each, so the chosen grid is the same to the bit.
#pragma once

#include "quantizers/grid/search.hpp"

namespace quench::quantizers {

// What one of the steps came to; kSearchSteps if none was tried.
struct Tried {
  double error;
  int step;
  int unused;  // no byte of it is indeterminate when it travels between threads
};

QUENCH_BOTH inline Tried nothing_tried() {
  return {std::numeric_limits<double>::infinity(), kSearchSteps, 0};
}

// The first of the steps with the least error.
QUENCH_BOTH inline Tried better(const Tried& a, const Tried& b) {
  const bool b_wins = b.error < a.error || (b.error == a.error && b.step < a.step);
  return b_wins ? b : a;
}

QUENCH_BOTH inline bool searches(Range range, GridKind kind) {
  return kind.mse > 0 && std::isfinite(grid_of(range, kind).scale);
}

// Tries the steps first, first + stride, ... on `count` values.
template <typename Value>
QUENCH_KERNEL Tried try_steps(const Value& value, int64_t count, Range range, GridKind kind,
                              int first, int stride) {
  Tried best = nothing_tried();
  for (int step = first; step < kSearchSteps; step += stride) {
    const Grid grid = clipped_grid(range, step, kind);
    if (!(grid.scale > 0)) {
      break;
    }
    const double error = rounding_error(value, count, grid, kind.max_code(), kind.mse, best.error);
    if (error < best.error) {
      best = {error, step, 0};
    }
  }
  return best;
}

QUENCH_KERNEL inline Grid chosen_grid(Range range, GridKind kind, const Tried& best) {
  return best.step < kSearchSteps ? clipped_grid(range, best.step, kind) : grid_of(range, kind);
}

}  // namespace quench::quantizers
