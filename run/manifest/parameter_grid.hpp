// Lists in place of scalars: the grid that the parameters of one manifest entry span.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/config/yaml.hpp"
#include "core/plugin/description.hpp"

namespace quench {

// The parameters with more than one value: lists where the schema has a scalar, lists of lists
// where it has a list.
std::vector<std::string> grid_axes(const PluginDescription& plugin, const YamlNode& parameters);

// All combinations, last key fastest. Throws Error(INVALID_ARGUMENT) before any is made when there
// are more than kMaxCells.
std::vector<nlohmann::json> grid_points(const PluginDescription& plugin,
                                        const YamlNode& parameters);

}  // namespace quench
