// The JSON Schemas of single sections of the manifest.
#pragma once

#include <nlohmann/json.hpp>

#include "core/plugin/catalog.hpp"
#include "run/manifest/item_keys.hpp"

namespace quench {

// `- id: {...}` for the plugins of a section, with its keys beside the id.
nlohmann::json entries_schema(const Catalog& catalog, ItemKind kind);
nlohmann::json sweep_schema();

}  // namespace quench
