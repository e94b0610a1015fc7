#include "run/cluster/open_shares.hpp"

#include <map>
#include <utility>

namespace quench {

std::vector<OpenShare> open_shares(const Shares& shares, const std::vector<Cell>& cells,
                                   const PlanCost& cost,
                                   const std::vector<double>& training_seconds,
                                   const std::vector<std::pair<size_t, size_t>>& folders) {
  std::vector<OpenShare> out(shares.count);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].number = i + 1;
  }
  std::map<std::pair<size_t, size_t>, uint64_t> share_of;  // experiment, row
  for (size_t unit = 0; unit < shares.units.size(); ++unit) {
    for (const auto& weights : shares.units[unit].weights) {
      share_of[weights] = shares.share_of[unit];
    }
  }
  for (size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    OpenShare& share = out.at(share_of.at({cell.job, cell.weights}));
    ++share.cells;
    share.blocked += cell.state == CellState::kBlocked ? 1 : 0;
    share.failed += cell.state == CellState::kFailed ? 1 : 0;
    if (cell.state == CellState::kToDo || cell.state == CellState::kReused) {
      ++share.open;
      share.seconds += cell.state == CellState::kToDo ? cost.cells[i].seconds : 0;
    }
  }
  for (const std::pair<size_t, size_t>& row : folders) {
    ++out.at(share_of.at(row)).folders;
  }
  for (size_t i = 0; i < training_seconds.size(); ++i) {
    if (const auto found = share_of.lower_bound({i, 0});
        found != share_of.end() && found->first.first == i) {
      out[found->second].seconds += training_seconds[i];
    }
  }
  return out;
}

}  // namespace quench
