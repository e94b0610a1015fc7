// Every finished cell as a row: what was measured, its difference to the float model, and how much
// it varies over each kind of replicate.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/observation.hpp"

namespace quench {

struct CellTable {
  struct Column {
    std::string title;
    bool is_number = false;
    std::string meaning;  // empty if the title says it
  };
  struct Cell {
    nlohmann::json value;  // null: no value
    std::string text;      // formatted for people
  };
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::map<const Record*, size_t> row_of;  // replicates map to the row of their draw 0
};

CellTable make_cell_table(const std::vector<Observation>& observations);

}  // namespace quench
