// The JSON Schemas of single sections of the manifest.
#pragma once

#include <nlohmann/json.hpp>

#include "core/plugin/catalog.hpp"
#include "run/manifest/item_keys.hpp"

namespace quench {

nlohmann::json requires_schema(const Catalog& catalog);
nlohmann::json checkpoints_schema(const Catalog& catalog);
// Of checkpoints; and of a training: a schedule without its length, which the training tells.
nlohmann::json learning_rate_schema();
nlohmann::json training_rate_schema();
nlohmann::json train_schema(const Catalog& catalog);
// `- id: {...}` for the plugins of a section, with its keys beside the id.
nlohmann::json entries_schema(const Catalog& catalog, ItemKind kind);
nlohmann::json sweep_schema();

}  // namespace quench
