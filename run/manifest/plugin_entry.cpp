#include "run/manifest/plugin_entry.hpp"

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "run/manifest/manifest_schema.hpp"
#include "run/manifest/schema_pieces.hpp"

namespace quench {

using nlohmann::json;

json plugin_schema(const Catalog& catalog, const char* kind) {
  json members = json::object();
  json ids = json::array();
  for (const PluginDescription* plugin : catalog.of_kind(kind)) {
    members[plugin->id] = parameters_schema(*plugin);
    ids.push_back(plugin->id);
  }
  if (ids.empty()) {
    return {{"not", json::object()}};  // no id is valid
  }
  json one = closed(std::move(members));
  one["minProperties"] = 1;
  one["maxProperties"] = 1;
  return {{"anyOf", json::array({{{"enum", ids}}, std::move(one)})}};
}

ManifestPlugin read_plugin(MappingReader& reader, const char* key, const std::string& wanted,
                           const std::string& of) {
  const YamlNode& node = *reader.get(key);
  if (node.is_scalar()) {
    return {node.scalar, node.place, {}};
  }
  if (!node.is_mapping() || node.members.size() != 1) {
    reader.add(node.place, fmt::format("`{}`: got {}, wanted {}", key, node.described(), wanted));
    return {"", node.place, {}};
  }
  const YamlNode::Member& chosen = node.members.front();
  ManifestPlugin out{chosen.key, chosen.key_place, chosen.value};
  if (!chosen.value.is_mapping() && !chosen.value.is_null()) {
    reader.add(chosen.value.place, fmt::format("{}{}: got {}, wanted a mapping of parameters", of,
                                               printable(chosen.key), chosen.value.described()));
    out.parameters = {};
  }
  return out;
}

}  // namespace quench
