// What a record says of the cell it is the value of.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/store/record.hpp"
#include "run/grid/grid.hpp"

namespace quench {

// {id, params, label, version, sha256, calibration}, or null for the float model.
nlohmann::json describe_quantizer(const Experiment& experiment, const Variant& variant);

// Fills key, parts, label, checkpoint, averaging, quantizer, draw, jitter, job and environment.
// `commit` and `family` are what opening the weights found out, or empty.
struct CellDescription {
  const Experiment& experiment;
  const Cell& cell;
  const nlohmann::json& parts;      // null where nothing is remembered
  const nlohmann::json& quantizer;  // as describe_quantizer, with bits_per_weight
  const std::string& commit;
  const std::string& family;
  const nlohmann::json& stored;  // how the checkpoint's files hold codes; null where they do not
};
void describe(const CellDescription& description, Record& record);

}  // namespace quench
