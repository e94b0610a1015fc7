// What the host finds in one plugin file by looking at it, for its author and before an
// installation. What its plugins do is tried elsewhere (promises/).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/plugin/catalog/catalog.hpp"

namespace quench {

struct PluginCheck {
  std::string text;  // one finding per line
  bool passed = false;
  std::vector<PluginDescription> items;  // none where the file is of no use
};
PluginCheck plugin_check(const Catalog& catalog, const std::filesystem::path& library);

}  // namespace quench
