// In which parts two content keys differ.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace quench {

struct PartDifference {
  std::string path;    // "quantizer.params.bits"
  nlohmann::json was;  // null where it is not there
  nlohmann::json is;
};

// The leaves of `was` and `is` that differ, in the order of their paths.
std::vector<PartDifference> explain_difference(const nlohmann::json& was, const nlohmann::json& is);

}  // namespace quench
