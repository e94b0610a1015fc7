// JSON Schema (draft-07) of manifests, for editors: what can be checked without opening files.
#pragma once

#include <nlohmann/json.hpp>

#include "core/plugin/catalog/catalog.hpp"

namespace quench {

// An object with these properties and no others.
nlohmann::json closed(nlohmann::json properties);
// The schema with a description.
nlohmann::json described(nlohmann::json schema, const char* description);
// One of the schema's definitions: name, amount, range, ranges, version.
nlohmann::json reference(const char* name);

// Includes the catalog's plugins, their parameters, ranges and meanings.
nlohmann::json manifest_schema(const Catalog& catalog);

// The schema of one plugin's parameters under its id, including lists as axes.
nlohmann::json parameters_schema(const PluginDescription& plugin);
// Of a key that takes one plugin of a kind: the catalog's, with their parameters.
nlohmann::json plugin_schema(const Catalog& catalog, const char* kind);

}  // namespace quench
