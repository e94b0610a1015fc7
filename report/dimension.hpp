// What tells one observation of a run from another, by name: what panels, lines, conditions and
// contrasts of a report speak of.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/store/record.hpp"

namespace quench {

// All names but `params.NAME` (a parameter of the quantizer), `averaging.NAME` and `sweep.PATH`
// (what a point of the sweep sets, by its dotted path in the manifest, or a value within that).
const std::vector<std::string>& dimension_names();
bool is_dimension(const std::string& name);

// The value of a record in a dimension; null where it has none.
nlohmann::json dimension_value(const Record& record, const std::string& name);
// What the record's point of the sweep sets, without the seed and without the values of these
// dimensions: equal in replicates. The job's number where the record does not say what it sets.
nlohmann::json sweep_point(const Record& record, const std::vector<std::string>& without = {});
// Whether the sweep sets the seed, so that records of equal points are replicates.
bool sweeps_seed(const Record& record);
// "decay", "3", "0.001"; "none" for null.
std::string value_text(const nlohmann::json& value);
// "branch decay", "3 bits", "group_size 64": a value that says what it is the value of.
std::string dimension_text(const std::string& name, const nlohmann::json& value);

}  // namespace quench
