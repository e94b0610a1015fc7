// Lists in place of scalars: the grid of the parameters of one manifest entry.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/config/yaml.hpp"
#include "core/plugin/catalog/description.hpp"

namespace quench {

// The parameters with several values: lists where the schema has a scalar, lists of lists where it
// has a list.
std::vector<std::string> grid_axes(const PluginDescription& plugin, const YamlNode& parameters);

// All combinations, last key fastest. Throws Error(INVALID_ARGUMENT) before making any if there are
// more than kMaxCells.
std::vector<nlohmann::json> grid_points(const PluginDescription& plugin,
                                        const YamlNode& parameters);

}  // namespace quench
