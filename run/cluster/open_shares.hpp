// What is left to do in each share of a run.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "run/grid/estimate.hpp"
#include "run/grid/grid.hpp"
#include "run/grid/shares.hpp"

namespace quench {

struct OpenShare {
  uint64_t number = 1;  // of Shares::count
  uint64_t cells = 0;
  uint64_t open = 0;     // cells that a task can do now, or take from the store
  uint64_t blocked = 0;  // cells whose files are missing
  uint64_t failed = 0;   // cells that only `--retry failed` tries again
  uint64_t folders = 0;  // of weights, that a task can write now
  double seconds = 0;    // expected, of what is open, trainings included

  bool is_open() const { return open > 0 || folders > 0; }
};

// One per share, in order. `cells` and `cost`: of the survey of the experiments from which the
// shares were made. `training_seconds`: what each experiment has to train, or none. `folders`:
// experiment and row (indices) of each folder of weights that can be written now.
std::vector<OpenShare> open_shares(const Shares& shares, const std::vector<Cell>& cells,
                                   const PlanCost& cost,
                                   const std::vector<double>& training_seconds,
                                   const std::vector<std::pair<size_t, size_t>>& folders);

}  // namespace quench
