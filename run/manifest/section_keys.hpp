// The keys of a section of the manifest, each described once: its schema, for editors and for the
// JSON Schema, and how it is read. A key that no row of the table has is an error that names the
// nearest one.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/config/problems.hpp"
#include "core/plugin/catalog.hpp"
#include "run/manifest/schema_pieces.hpp"

namespace quench {

template <typename Section>
struct SectionKey {
  std::string name;
  nlohmann::json (*schema)(const Catalog& catalog);  // nullptr: hidden from editors
  // Takes the key's value from the reader. Called in the order of the table, also for a missing
  // key, to set its default.
  void (*read)(MappingReader& reader, Section& out);
  bool required = false;
};

// Adds the schema of each key to the properties of an object.
template <typename Section>
void add_properties(std::span<const SectionKey<Section>> keys, const Catalog& catalog,
                    nlohmann::json& properties) {
  for (const SectionKey<Section>& key : keys) {
    if (key.schema != nullptr) {
      properties[key.name] = key.schema(catalog);
    }
  }
}

// An object with these keys and no others.
template <typename Section>
nlohmann::json section_schema(std::span<const SectionKey<Section>> keys, const Catalog& catalog) {
  nlohmann::json properties = nlohmann::json::object();
  add_properties(keys, catalog, properties);
  nlohmann::json out = closed(std::move(properties));
  for (const SectionKey<Section>& key : keys) {
    if (key.required) {
      out["required"].push_back(key.name);
    }
  }
  return out;
}

// Fills `out`. A section of several tables is finished after the last one.
template <typename Section>
void read_keys(std::span<const SectionKey<Section>> keys, MappingReader& reader, Section& out) {
  for (const SectionKey<Section>& key : keys) {
    key.read(reader, out);
  }
}

// Reads the whole section. `homes`: as in MappingReader::finish.
template <typename Section>
void read_section(std::span<const SectionKey<Section>> keys, MappingReader& reader, Section& out,
                  const std::vector<std::pair<std::string, std::string>>& homes = {}) {
  read_keys(keys, reader, out);
  reader.finish(homes);
}

}  // namespace quench
