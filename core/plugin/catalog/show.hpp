// Formats texts about plugins for the command line and the documentation.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/plugin/catalog/catalog.hpp"

namespace quench {

// `plugins list`: rows of a table, its head first (kind, id, version, summary, library), one per
// item, then lines about shadowed items and rejected libraries.
struct PluginsList {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> notes;
};
PluginsList plugins_list(const Catalog& catalog);
nlohmann::json plugins_list_json(const Catalog& catalog);

// `plugins show ID`: all items of an id or kind/id. Throws Error(NOT_FOUND) with the nearest
// spelling.
std::string plugin_show(const Catalog& catalog, const std::string& id);
nlohmann::json plugin_show_json(const Catalog& catalog, const std::string& id);

// `plugins why ID`: where it was found, what it shadows, and rejected libraries of that name with
// the reason.
std::string plugin_why(const Catalog& catalog, const std::string& id);

// docs/plugins.md: one section per kind, one subsection per plugin.
std::string plugins_markdown(const Catalog& catalog);

}  // namespace quench
