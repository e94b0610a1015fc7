#include "run/manifest/manifest_items.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/plugin/services/host_services.hpp"
#include "quench/abi/kind/format.h"
#include "quench/abi/kind/transform.h"
#include "run/manifest/manifest_schema.hpp"

namespace quench {

using nlohmann::json;

namespace {

// The section and the keys beside an id.
struct ItemSection {
  std::string name;
  std::string kind;  // of its plugins
  Fields<ManifestItem> keys;

  // Without those that have a new name.
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& key : keys.all()) {
      if (key.now().empty()) {
        out.push_back(key.name());
      }
    }
    return out;
  }
};

constexpr long long kMaxReplicates = 10'000;
constexpr size_t kMaxItemName = 4096;  // bytes

// ---- values

std::optional<std::string> plain_name(const std::string& text) {
  return printable(text, kMaxItemName) == text ? std::optional(text) : std::nullopt;
}

using Item = ManifestItem;
using ItemFields = Fields<ManifestItem>;

template <typename Member>
ItemFields::Field& add_name(ItemFields& f, const char* name, Member member, const char* meaning) {
  return f.parsed(name, member, plain_name, "a name", reference("name"), meaning);
}

void add_label(ItemFields& f) {
  add_name(f, "label", &Item::label, "Its name in results and figures");
}

// ---- averaging

const ItemSection kAveragings{
    "averaging", "averaging", ItemFields([](ItemFields& f) {
      add_label(f);
      f.names("of", &Item::of, "a list of checkpoints, branch@revision",
              "An explicit set, branch@last or branch@step600, instead of windows");
      f.flag("raw", &Item::raw, "false: unaveraged checkpoints leave the grid");
      f.flag("keep", &Item::keep, "true: write the averaged weights beside the results");
    })};

// ---- quantizers

const Fields<ManifestReplicates> kReplicates([](Fields<ManifestReplicates>& f) {
  f.integer("draws", &ManifestReplicates::draws, 1, kMaxReplicates,
            "Disjoint samples of the calibration corpus");
  f.integer("jitter", &ManifestReplicates::jitter, 0, kMaxReplicates,
            "Permutations of the same data");
  f.names("at", &ManifestReplicates::at, "a list of first, last, forks or branch@revision",
          "first, last, forks, or branch@revision");
});

json written_formats(const Catalog& catalog) {
  json ids = json::array();
  for (const PluginDescription* format : catalog.of_kind(QUENCH_KIND_FORMAT)) {
    if (format->instance && (format->instance->needs & QUENCH_FORMAT_WRITES) != 0) {
      ids.push_back(format->id);
    }
  }
  return {{"enum", ids}};
}

const ItemSection kQuantizers{
    "quantizers", "quantizer", ItemFields([](ItemFields& f) {
      add_label(f);
      add_name(f, "calibration", &Item::calibration, "A name in `calibration`");
      f.section("replicates", &Item::replicates, kReplicates, "Repetitions that show the spread");
      add_name(f, "export", &Item::export_as,
               "Also write the quantized weights in this file format")
          .schema(written_formats);
      f.own(
          "transform",
          [](const Catalog& catalog) { return plugin_schema(catalog, QUENCH_KIND_TRANSFORM); },
          [](MappingReader& reader, Item& item) {
            item.transform = read_plugin(reader, "transform");
          },
          "A change of the float model before it is quantized");
    })};

// ---- metrics

void read_weights(MappingReader& reader, ManifestItem& item) {
  const YamlNode* node = reader.get("of");
  if (node == nullptr) {
    return;
  }
  const std::string text = node->is_scalar() ? node->scalar : "";
  if (text == "all" || text == "float" || text == "quantized") {
    item.scope.of_float = text != "quantized";
    item.scope.of_quantized = text != "float";
  } else {
    reader.add(node->place,
               fmt::format("`of`: got {}, wanted all, float, quantized", node->described()));
  }
}

const ItemSection kMetrics{
    "metrics", "metric", ItemFields([](ItemFields& f) {
      add_label(f);
      f.own("of", {{"enum", {"all", "float", "quantized"}}}, read_weights,
            "Which weights it measures");
      const auto fused = [](Item & item) -> auto& {
        return item.scope.fused;
      };
      f.flag("fused", fused, "true: score within the quantization pass");
      f.flag("in_pass", fused, "The earlier name of `fused`").renamed_to("fused");
    })};

const ItemSection& item_section(ItemKind kind) {
  return kind == ItemKind::kAveraging   ? kAveragings
         : kind == ItemKind::kQuantizer ? kQuantizers
                                        : kMetrics;
}

// The section that has such a key, or nullptr.
const ItemSection* section_with(const std::string& key) {
  for (const ItemSection* section : {&kAveragings, &kQuantizers, &kMetrics}) {
    if (section->keys.find(key) != nullptr) {
      return section;
    }
  }
  return nullptr;
}

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
        take_plugin(member, section_.name + ": ", problems_, item);
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

  void add(const Place& place, const std::string& message) const {
    problems_.add(place, section_.name + ": " + message);
  }

  const ItemSection& section_;
  Problems& problems_;
};

}  // namespace

bool stands_beside_an_id(const std::string& key) {
  return section_with(key) != nullptr;
}

void take_plugin(const YamlNode::Member& member, const std::string& where, Problems& problems,
                 ManifestPlugin& out) {
  out.id = member.key;
  out.place = member.key_place;
  out.parameters = member.value;
  if (!member.value.is_mapping() && !member.value.is_null()) {
    problems.add(member.value.place, where + printable(out.id) + ": " +
                                         unlike(member.value, "a mapping of parameters"));
    out.parameters = {};
  }
}

ManifestPlugin read_plugin(MappingReader& reader, const char* key) {
  const YamlNode* node = reader.get(key);
  ManifestPlugin out;
  if (node == nullptr) {
    return out;
  }
  out.place = node->place;
  if (node->is_scalar()) {
    out.id = node->scalar;
  } else if (node->is_mapping() && node->members.size() == 1) {
    take_plugin(node->members.front(), fmt::format("{}: {} ", reader.where(), key),
                reader.problems(), out);
  } else {
    reader.add(node->place,
               fmt::format("`{}`: {}", key, unlike(*node, "`id` or `{id: {parameters}}`")));
  }
  return out;
}

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
  if (kind == ItemKind::kMetric) {  // there must be one
    out = {{"type", "array"}, {"minItems", 1}};
  }
  out["items"] = forms.empty() ? json(false) : json{{"anyOf", forms}};
  return out;
}

}  // namespace quench
