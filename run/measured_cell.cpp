#include "run/measured_cell.hpp"

#include <algorithm>

namespace quench {

std::vector<std::string> keys_to_do(std::span<const MeasuredCell> cells) {
  std::vector<std::string> keys;
  for (const MeasuredCell& each : cells) {
    if (each.to_do() && !each.cell.key.empty()) {
      keys.push_back(each.cell.key);
    }
  }
  return keys;
}

bool any_to_do(std::span<const MeasuredCell> cells) {
  return std::any_of(cells.begin(), cells.end(),
                     [](const MeasuredCell& each) { return each.to_do(); });
}

bool all_failed(std::span<const MeasuredCell> cells) {
  return std::all_of(cells.begin(), cells.end(), [](const MeasuredCell& each) {
    return each.cell.state == CellState::kFailed || each.fault;
  });
}

std::vector<std::span<MeasuredCell>> by_variant(std::span<MeasuredCell> cells) {
  std::vector<std::span<MeasuredCell>> out;
  for (size_t first = 0; first < cells.size();) {
    size_t end = first;
    while (end < cells.size() && cells[end].cell.variant == cells[first].cell.variant) {
      ++end;
    }
    out.push_back(cells.subspan(first, end - first));
    first = end;
  }
  return out;
}

}  // namespace quench
