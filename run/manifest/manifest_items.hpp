// The lists of a manifest whose entries are plugins: `- id: {parameters}`, with the host's keys
// beside the id.
#pragma once

#include <string>
#include <vector>

#include "run/manifest/fields.hpp"
#include "run/manifest/manifest.hpp"

namespace quench {

enum class ItemKind { kAveraging, kQuantizer, kMetric };

// Whether entries of one of the lists may have this key.
bool stands_beside_an_id(const std::string& key);

// The entries of `node`, which may be nullptr or null. Adds errors to `problems`.
std::vector<ManifestItem> read_items(const YamlNode* node, ItemKind kind, Problems& problems);

// The schema of such a list.
nlohmann::json entries_schema(const Catalog& catalog, ItemKind kind);

// A key that takes one plugin, if it is given. `wanted`: what an error wants in place of another
// form. `of` stands before the id in errors about its parameters: "optimizer ".
ManifestPlugin read_plugin(MappingReader& reader, const char* key, const std::string& wanted,
                           const std::string& of = "");

}  // namespace quench
