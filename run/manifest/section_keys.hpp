// The keys of a section of the manifest, each described once: what may be written there, for
// editors and for the JSON Schema, and what reading it does. Keys that no row of the table has are
// errors with the nearest one.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/config/problems.hpp"
#include "core/plugin/catalog.hpp"
#include "run/manifest/schema_pieces.hpp"

namespace quench {

template <typename Section>
struct SectionKey {
  std::string name;
  nlohmann::json (*schema)(const Catalog& catalog);  // nullptr: editors are not told of it
  // Takes the key's value out of the reader. Called in the order of the table, also where the key
  // is not there, for its default.
  void (*read)(MappingReader& reader, Section& out);
  bool required = false;
};

// Adds what may be written under each key to the properties of an object.
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

// The whole section. `homes`: as in MappingReader::finish.
template <typename Section>
void read_section(std::span<const SectionKey<Section>> keys, MappingReader& reader, Section& out,
                  const std::vector<std::pair<std::string, std::string>>& homes = {}) {
  read_keys(keys, reader, out);
  reader.finish(homes);
}

}  // namespace quench
