// JSON Schema (draft-07) of manifests, for editors: what can be checked without opening files.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/plugin/catalog/catalog.hpp"

namespace quench {

// Includes the catalog's plugins, their parameters, ranges and meanings.
nlohmann::json manifest_schema(const Catalog& catalog);

// The schema of one plugin's parameters under its id, including lists as axes.
nlohmann::json parameters_schema(const PluginDescription& plugin);

}  // namespace quench
