// The lists of a manifest whose entries are plugins: `- id: {parameters}`, with the host's keys
// beside the id.
#pragma once

#include <vector>

#include "run/manifest/item_keys.hpp"
#include "run/manifest/manifest.hpp"

namespace quench {

// The entries of `node`, which may be nullptr or null. Adds errors to `problems`.
std::vector<ManifestItem> read_items(const YamlNode* node, ItemKind kind, Problems& problems);

// The schema of such a list.
nlohmann::json entries_schema(const Catalog& catalog, ItemKind kind);

}  // namespace quench
