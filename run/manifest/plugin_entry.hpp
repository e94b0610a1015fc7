// A key that takes one plugin: an id, or `{id: {parameters}}`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/config/problems.hpp"
#include "core/plugin/catalog/catalog.hpp"

namespace quench {

struct ManifestPlugin {
  std::string id;  // empty: none
  Place place;
  YamlNode parameters;  // a mapping, or null
};

// The catalog's plugins of the kind, with their parameters.
nlohmann::json plugin_schema(const Catalog& catalog, const char* kind);

// Reads a key that is given. `wanted`: what an error wants in place of another form. `of` stands
// before the id in errors about its parameters: "optimizer ".
ManifestPlugin read_plugin(MappingReader& reader, const char* key, const std::string& wanted,
                           const std::string& of = "");

}  // namespace quench
