// Records as a table for people.
#pragma once

#include <string>
#include <vector>

#include "core/store/record.hpp"

namespace quench {

// One line per checkpoint and quantizer: loss, its standard error, ΔQL with its interval of one
// standard error, bits per weight; failed cells with their error below.
std::string records_table(const std::vector<Record>& records);

}  // namespace quench
