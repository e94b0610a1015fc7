// Records as tables for people and papers.
#pragma once

#include <string>
#include <vector>

#include "core/store/record.hpp"

namespace quench {

enum class TableStyle { kText, kMarkdown, kLatex };

// One line per checkpoint and quantizer: loss, its standard error, ΔQL with its interval of one
// standard error, bits per weight; failed cells with their error below (in LaTeX as comments). The
// LaTeX form needs the package booktabs.
std::string records_table(const std::vector<Record>& records, TableStyle style = TableStyle::kText);

// Rows of text with their columns lined up, two spaces between them.
std::string aligned_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace quench
