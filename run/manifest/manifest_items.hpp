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

// Takes `id: {parameters}`; `where` begins its errors, before the id.
void take_plugin(const YamlNode::Member& member, const std::string& where, Problems& problems,
                 ManifestPlugin& out);

// A key that takes one plugin, by its id or as `{id: {parameters}}`, if it is given.
ManifestPlugin read_plugin(MappingReader& reader, const char* key);

}  // namespace quench
