#include "run/manifest/manifest_schema.hpp"

#include <nlohmann/json.hpp>

#include "run/manifest/document_keys.hpp"
#include "run/manifest/schema_pieces.hpp"
#include "run/manifest/section_schemas.hpp"

namespace quench {

using nlohmann::json;

// `- id: {...}` for the plugins of a section, with its keys beside the id.
json entries_schema(const Catalog& catalog, ItemKind kind) {
  const ItemSection& section = item_section(kind);
  json properties = json::object();
  section.keys.add_properties(catalog, properties);
  json one_id = json::array();
  json bare = json::array();  // ids that may stand alone
  for (const PluginDescription* plugin : catalog.of_kind(section.kind)) {
    properties[plugin->id] = parameters_schema(*plugin);
    one_id.push_back({{"required", {plugin->id}}});
    if (!properties[plugin->id].contains("required")) {
      bare.push_back(plugin->id);
    }
  }
  json entry = closed(std::move(properties));
  json forms = json::array();
  if (!one_id.empty()) {
    entry["oneOf"] = one_id;
    forms.push_back(entry);
  }
  if (!bare.empty()) {
    forms.push_back({{"enum", bare}});
  }
  json out = {{"type", json::array({"array", "null"})}};
  out["items"] = forms.empty() ? json(false) : json{{"anyOf", forms}};
  return out;
}

json sweep_schema() {
  const json point = {{"type", "object"}, {"minProperties", 1}};
  const json axes = {{"type", "object"},
                     {"minProperties", 1},
                     {"additionalProperties", {{"type", "array"}, {"minItems", 1}}}};
  return {{"anyOf",
           {{{"type", "null"}}, {{"type", "array"}, {"items", point}, {"minItems", 1}}, axes}}};
}

json manifest_schema(const Catalog& catalog) {
  json out = document_keys().schema(catalog);
  out["$schema"] = "http://json-schema.org/draft-07/schema#";
  out["title"] = "quench manifest";
  out["definitions"] = definitions();
  // The points of a sweep may add what the rest lacks.
  out["if"] = {{"not", {{"required", {"sweep"}}}}};
  out["then"] = {
      {"required", {"checkpoints", "metrics"}},
      {"properties",
       {{"checkpoints", {{"anyOf", {{{"required", {"model"}}}, {{"required", {"branches"}}}}}}}}}};
  return out;
}

}  // namespace quench
