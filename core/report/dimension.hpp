// What tells one observation of a run from another, by name: what panels, lines, conditions and
// contrasts of a report speak of.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/store/record.hpp"

namespace quench {

// All names but `params.NAME` (a parameter of the quantizer) and `averaging.NAME`.
const std::vector<std::string>& dimension_names();
bool is_dimension(const std::string& name);

// The value of a record in a dimension; null where it has none.
nlohmann::json dimension_value(const Record& record, const std::string& name);
// "decay", "3", "0.001"; "none" for null.
std::string value_text(const nlohmann::json& value);
// "branch decay", "3 bits", "group_size 64": a value that says what it is the value of.
std::string dimension_text(const std::string& name, const nlohmann::json& value);

}  // namespace quench
