// JSON Schema (draft-07) of manifests, for editors: what can be said without looking at files.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/plugin/catalog.hpp"

namespace quench {

// With the plugins of the catalog, their parameters, ranges and meanings.
nlohmann::json manifest_schema(const Catalog& catalog);

// The schema of one plugin's parameters as they stand under its id, lists as axes included.
nlohmann::json parameters_schema(const PluginDescription& plugin);

}  // namespace quench
