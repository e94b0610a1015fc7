// The lists of a manifest whose entries are plugins: `- id: {parameters}` with keys of the host's
// beside the id.
#pragma once

#include <string>
#include <vector>

#include "run/manifest/manifest.hpp"

namespace quench {

enum class ItemKind { kAveraging, kQuantizer, kMetric };

// The entries of `node`, which may be nullptr or null. What is wrong is added to `problems`.
std::vector<ManifestItem> read_items(const YamlNode* node, ItemKind kind, Problems& problems);

// The keys that may stand beside an id.
const std::vector<std::string>& keys_beside_id(ItemKind kind);

}  // namespace quench
