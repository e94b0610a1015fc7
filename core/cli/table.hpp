// Records as a table for people.
#pragma once

#include <string>
#include <vector>

#include "core/store/record.hpp"

namespace quench {

// One line per checkpoint and quantizer: loss, its standard error, ΔQL with its interval of one
// standard error, bits per weight; failed cells with their error below.
std::string records_table(const std::vector<Record>& records);

// Rows of text with their columns lined up, two spaces between them.
std::string aligned_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace quench
