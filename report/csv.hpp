// The data of figures and tables as comma-separated values (RFC 4180, UTF-8, full precision).
#pragma once

#include <string>

#include "report/cell_table.hpp"
#include "report/figure.hpp"

namespace quench {

// One line per point: panel, trace (indices from 0), x, y, low, high, kind, panel_title, name,
// point. Missing values are empty.
std::string figure_csv(const Figure& figure);
std::string table_csv(const CellTable& table);

}  // namespace quench
