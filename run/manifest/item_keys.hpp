// The keys that may stand beside a plugin's id in the lists of a manifest, each described once: its
// schema and its reading.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "core/config/problems.hpp"
#include "core/plugin/catalog.hpp"
#include "run/manifest/manifest.hpp"

namespace quench {

enum class ItemKind { kAveraging, kQuantizer, kMetric };

// Where an entry is: its section, and where its errors go.
struct ItemPlace {
  const std::string& section;
  Problems& problems;
  void add(const Place& place, const std::string& message) const;
};

struct ItemKey {
  std::string name;
  nlohmann::json (*schema)(const Catalog& catalog);
  void (*read)(const ItemPlace& at, const YamlNode::Member& member, ManifestItem& item);
  std::string now = "";  // the key's new name; the old one still works, with a warning
};

// The section and its keys.
struct ItemSection {
  std::string name;
  std::string kind;  // kind of its plugins
  std::vector<ItemKey> keys;

  const ItemKey* find(const std::string& key) const;  // or nullptr
  std::vector<std::string> names() const;             // without keys that have a new name
};
const ItemSection& item_section(ItemKind kind);
// The section that has such a key, or nullptr.
const ItemSection* section_with(const std::string& key);

}  // namespace quench
