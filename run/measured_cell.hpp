// One cell of the current set of weights, with its results so far.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/store/record.hpp"
#include "run/grid/grid.hpp"

namespace quench {

struct MeasuredCell {
  Cell cell;
  nlohmann::json parts = nullptr;             // parts of its key; null if nothing is remembered
  std::optional<Error> fault = std::nullopt;  // why it cannot be measured
  std::vector<Record> records = {};           // empty: still to compute
  bool unchecked = false;                     // a plugin opened files that nothing was held to

  bool to_do() const { return cell.state == CellState::kToDo; }
};

// The content keys of the cells that must be computed.
std::vector<std::string> keys_to_do(std::span<const MeasuredCell> cells);
bool any_to_do(std::span<const MeasuredCell> cells);
// Whether all of these cells have failed or will fail.
bool all_failed(std::span<const MeasuredCell> cells);
// Splits the cells into one span per variant; cells of a variant must be adjacent.
std::vector<std::span<MeasuredCell>> by_variant(std::span<MeasuredCell> cells);

}  // namespace quench
