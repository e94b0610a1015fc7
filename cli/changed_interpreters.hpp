// Plugins in Python that another interpreter runs than in the run before.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/plugin/catalog/description.hpp"
#include "core/store/record.hpp"

namespace quench {

// A line for each interpreter that has changed since the folder's run.json was written, as far as
// plugins that it ran have values among `records`: those of the folder.
std::vector<std::string> changed_interpreters(const std::filesystem::path& folder,
                                              const std::vector<PluginDescription>& plugins,
                                              const std::vector<Record>& records);

}  // namespace quench
