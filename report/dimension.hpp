// The named dimensions in which observations of a run differ: panels, lines, conditions and
// contrasts of a report refer to them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/store/record.hpp"

namespace quench {

// All names except `params.NAME` (a parameter of the quantizer), `averaging.NAME` and `sweep.PATH`
// (a value that a point of the sweep sets, by its path in the manifest, or a value inside it).
const std::vector<std::string>& dimension_names();
bool is_dimension(const std::string& name);

// The value of a record in a dimension; null if it has none.
nlohmann::json dimension_value(const Record& record, const std::string& name);
// What the record's point of the sweep sets, without the seeds and these dimensions: equal for
// replicates. Where a point chooses something else on the way to a dimension, the whole choice is
// left out: `sweep.train.optimizer.sam.rho` in a point that chooses adamw is the choice of an
// optimizer with all its values. The job's number if the record does not say what its point sets.
nlohmann::json sweep_point(const Record& record, const std::vector<std::string>& without = {});
// The seeds that the sweep sets, `seed` and `train.seed`: records that differ in nothing else are
// replicates. Empty if it sets none.
std::vector<int64_t> swept_seeds(const Record& record);
// "decay", "3", "0.001"; "none" for null.
std::string value_text(const nlohmann::json& value);
// What the record's point of the sweep sets beside the seeds and the dimensions of `without`, each
// path by its last word: "peak 0.003, decay 0.1"; "" if nothing.
std::string point_text(const Record& record, const std::vector<std::string>& without = {});
// "branch decay", "3 bits", "group_size 64": a value with its dimension.
std::string dimension_text(const std::string& name, const nlohmann::json& value);

}  // namespace quench
