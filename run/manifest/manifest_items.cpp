#include "run/manifest/manifest_items.hpp"

#include "core/error.hpp"
#include "core/plugin/services/host_services.hpp"
#include "run/manifest/manifest_schema.hpp"

namespace quench {

namespace {

class ItemReader {
 public:
  ItemReader(const ItemSection& section, Problems& problems)
      : section_(section), problems_(problems) {}

  ManifestItem read(const YamlNode& node) {
    ManifestItem item;
    item.place = node.place;
    if (node.is_scalar()) {  // `- rtn` is `- rtn: {}`
      item.id = node.scalar;
      return item;
    }
    if (!node.is_mapping()) {
      add(node.place, fmt::format("got {}, wanted `- id: {{parameters}}`", node.described()));
      return item;
    }
    MappingReader reader(node, section_.name, problems_);
    for (const YamlNode::Member& member : node.members) {
      if (const auto* key = section_.keys.find(member.key)) {
        key->read(reader, item);
        warn_of_name(*key, member.key_place);
      } else if (const ItemSection* other = section_with(member.key)) {
        add(member.key_place,
            fmt::format("`{}` goes with {}, not here; {}", member.key, other->name, keys_here()));
      } else if (!item.id.empty()) {
        add(member.key_place, two_ids(item.id, member.key));
      } else {
        read_id(member, item);
      }
    }
    if (item.id.empty()) {
      add(node.place, "an entry without an id");
    }
    if (item.scope.fused && !item.scope.of_quantized) {
      add(item.place, "`fused` is about quantized weights, and `of: float` leaves them out");
    }
    return item;
  }

 private:
  std::string keys_here() const {
    return fmt::format("keys beside an id are {}", fmt::join(section_.names(), ", "));
  }

  std::string two_ids(const std::string& first, const std::string& second) const {
    const std::string near = nearest(second, section_.names());
    return fmt::format("two ids in one entry, `{}` and `{}`; {}", printable(first),
                       printable(second),
                       near.empty() ? fmt::format("each needs a `- ` of its own ({})", keys_here())
                                    : fmt::format("did you mean `{}`?", near));
  }

  void warn_of_name(const Fields<ManifestItem>::Field& key, const Place& place) const {
    if (!key.now().empty()) {
      HostServices::instance().log(
          QUENCH_LOG_WARNING, "",
          fmt::format("{}: {}: `{}` is called `{}` by now; the next version refuses it",
                      place.text(), section_.name, key.name(), key.now()));
    }
  }

  void read_id(const YamlNode::Member& member, ManifestItem& item) const {
    item.id = member.key;
    item.place = member.key_place;
    item.parameters = member.value;
    if (!member.value.is_mapping() && !member.value.is_null()) {
      add(member.value.place, fmt::format("{}: got {}, wanted a mapping of parameters",
                                          printable(item.id), member.value.described()));
      item.parameters = {};
    }
  }

  void add(const Place& place, const std::string& message) const {
    problems_.add(place, section_.name + ": " + message);
  }

  const ItemSection& section_;
  Problems& problems_;
};

}  // namespace

std::vector<ManifestItem> read_items(const YamlNode* node, ItemKind kind, Problems& problems) {
  std::vector<ManifestItem> items;
  const ItemSection& section = item_section(kind);
  if (node == nullptr || node->is_null()) {
    return items;
  }
  if (!node->is_sequence()) {
    problems.add(node->place,
                 fmt::format("{}: got {}, wanted a list", section.name, node->described()));
    return items;
  }
  ItemReader reader(section, problems);
  for (const YamlNode& entry : node->items) {
    items.push_back(reader.read(entry));
  }
  return items;
}

nlohmann::json entries_schema(const Catalog& catalog, ItemKind kind) {
  const ItemSection& section = item_section(kind);
  nlohmann::json properties = nlohmann::json::object();
  section.keys.add_properties(catalog, properties);
  nlohmann::json one_id = nlohmann::json::array();
  nlohmann::json bare = nlohmann::json::array();  // ids that may stand alone
  for (const PluginDescription* plugin : catalog.of_kind(section.kind)) {
    properties[plugin->id] = parameters_schema(*plugin);
    one_id.push_back({{"required", {plugin->id}}});
    if (!properties[plugin->id].contains("required")) {
      bare.push_back(plugin->id);
    }
  }
  nlohmann::json entry = closed(std::move(properties));
  nlohmann::json forms = nlohmann::json::array();
  if (!one_id.empty()) {
    entry["oneOf"] = one_id;
    forms.push_back(entry);
  }
  if (!bare.empty()) {
    forms.push_back({{"enum", bare}});
  }
  nlohmann::json out = {{"type", nlohmann::json::array({"array", "null"})}};
  out["items"] = forms.empty() ? nlohmann::json(false) : nlohmann::json{{"anyOf", forms}};
  return out;
}

}  // namespace quench
