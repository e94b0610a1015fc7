// Every finished cell as a row: what was measured, the difference to the float model, and over what
// it was found to vary.
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
    std::string meaning;  // empty where the title says it
  };
  struct Cell {
    nlohmann::json value;  // null: nothing to say
    std::string text;      // as people read it
  };
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::map<const Record*, size_t> row_of;  // replicates have the row of their draw 0
};

CellTable make_cell_table(const std::vector<Observation>& observations);

}  // namespace quench
