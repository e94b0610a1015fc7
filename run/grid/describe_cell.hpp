// Describes the cell of a value for its record.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/plugin/catalog/catalog.hpp"
#include "core/store/record.hpp"
#include "run/grid/grid.hpp"

namespace quench {

// {id, params, label, version, sha256, calibration}, or null for the float model; with
// {process: own} where `catalog` has it so.
nlohmann::json describe_quantizer(const Catalog& catalog, const Experiment& experiment,
                                  const Variant& variant);

// Fills key, parts, label, checkpoint, averaging, quantizer, draw, jitter, job and environment.
// `commit` and `family` come from opening the weights, or are empty.
struct CellDescription {
  const Catalog& catalog;
  const Experiment& experiment;
  const Cell& cell;
  const nlohmann::json& parts;      // null if some part is unknown
  const nlohmann::json& quantizer;  // the result of describe_quantizer, with bits_per_weight
  const std::string& commit;
  const std::string& family;
  const nlohmann::json& stored;  // how the checkpoint's files hold codes; null if they do not
  const std::vector<std::string>& warnings;  // of the plugins that opened the checkpoint
};
void describe(const CellDescription& description, Record& record);

}  // namespace quench
