// Texts about plugins for the command line and the documentation.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/plugin/catalog.hpp"

namespace quench {

// `plugins list`: one line per item (kind, id, version, summary, library); libraries that were
// rejected follow.
std::string plugins_list(const Catalog& catalog);
nlohmann::json plugins_list_json(const Catalog& catalog);

// `plugins show ID`: `id` is an id or kind/id. All items of that id. Throws Error(NOT_FOUND) with
// the nearest spelling.
std::string plugin_show(const Catalog& catalog, const std::string& id);
nlohmann::json plugin_show_json(const Catalog& catalog, const std::string& id);

// `plugins why ID`: where it was found, what it shadows, and libraries of that name that were
// rejected, with the reason.
std::string plugin_why(const Catalog& catalog, const std::string& id);

// docs/plugins.md: one section per kind, one per plugin.
std::string plugins_markdown(const Catalog& catalog);

// Why plugins that come with the program cannot run beside this one, or "": it brings another file
// of a library that they need. What `run` would refuse, for `doctor` and `plugins check`.
std::string isolation(const Catalog& catalog, const PluginDescription& item);

// `plugins check FILE.so`: everything that can be said of one library.
struct PluginCheck {
  std::string text;  // one finding a line
  bool passed = false;
};
PluginCheck plugin_check(const Catalog& catalog, const std::filesystem::path& library);

}  // namespace quench
