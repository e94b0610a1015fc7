// One cell of the set of weights at work, with what has come of it so far.
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
  nlohmann::json parts = nullptr;             // of its key; null where nothing is remembered
  std::optional<Error> fault = std::nullopt;  // why it cannot be measured
  std::vector<Record> records = {};           // empty: to be computed

  bool to_do() const { return cell.state == CellState::kToDo; }
};

// The content keys of those that are to be computed.
std::vector<std::string> keys_to_do(std::span<const MeasuredCell> cells);
bool any_to_do(std::span<const MeasuredCell> cells);
// Whether nothing is to be expected of these: all have failed, or will.
bool hopeless(std::span<const MeasuredCell> cells);
// The cells of each variant, in their order, in which those of one variant stand together.
std::vector<std::span<MeasuredCell>> by_variant(std::span<MeasuredCell> cells);

}  // namespace quench
