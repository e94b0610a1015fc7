// The keys that may stand beside a plugin's id in the lists of a manifest.
#pragma once

#include <string>
#include <vector>

#include "run/manifest/fields.hpp"
#include "run/manifest/manifest.hpp"

namespace quench {

enum class ItemKind { kAveraging, kQuantizer, kMetric };

// The section and the keys beside an id.
struct ItemSection {
  std::string name;
  std::string kind;  // kind of its plugins
  Fields<ManifestItem> keys;

  std::vector<std::string> names() const;  // of the keys, without those that have a new name
};
const ItemSection& item_section(ItemKind kind);
// The section that has such a key, or nullptr.
const ItemSection* section_with(const std::string& key);

}  // namespace quench
