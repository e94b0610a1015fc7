// Lists the differences between two JSON values, such as the parts of two keys or two manifests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace quench {

struct Difference {
  std::string path;    // "quantizer.params.bits", "members[2]"
  nlohmann::json was;  // null if there was nothing
  nlohmann::json is;
};

// All leaves that differ, by name. Lists of different lengths differ as a whole.
std::vector<Difference> explain_difference(const nlohmann::json& parts_a,
                                           const nlohmann::json& parts_b);

// "quantizer.params.bits: 3, was 4"; cuts long values.
std::string difference_text(const Difference& difference);

}  // namespace quench
