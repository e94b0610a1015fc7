#include "run/manifest/item_keys.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "quench/abi/kind/format.h"
#include "run/manifest/manifest_schema.hpp"
#include "run/manifest/schema_pieces.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr long long kMaxReplicates = 10'000;
constexpr size_t kMaxName = 4096;  // bytes

// ---- values

// A name, or "" after reporting the error.
std::string read_name(const ItemPlace& at, const YamlNode::Member& member) {
  const bool is_name =
      member.value.is_scalar() && printable(member.value.scalar, kMaxName) == member.value.scalar;
  if (is_name) {
    return member.value.scalar;
  }
  at.add(member.value.place,
         fmt::format("`{}`: got {}, wanted a name", member.key, member.value.described()));
  return "";
}

bool read_flag(const ItemPlace& at, const YamlNode::Member& member, bool otherwise) {
  const YamlNode& value = member.value;
  if (value.is_scalar() && !value.quoted && (value.scalar == "true" || value.scalar == "false")) {
    return value.scalar == "true";
  }
  at.add(value.place,
         fmt::format("`{}`: got {}, wanted true or false", member.key, value.described()));
  return otherwise;
}

std::vector<PlacedText> read_names(const ItemPlace& at, const YamlNode& list,
                                   const std::string& key, const std::string& wanted) {
  std::vector<PlacedText> names;
  if (!list.is_sequence() || list.items.empty()) {
    at.add(list.place,
           fmt::format("`{}`: got {}, wanted {}", key,
                       list.is_sequence() ? "an empty list" : list.described(), wanted));
    return names;
  }
  for (const YamlNode& item : list.items) {
    const auto same = [&](const PlacedText& earlier) { return earlier.text == item.scalar; };
    if (!item.is_scalar()) {
      at.add(item.place, fmt::format("`{}`: got {}, wanted {}", key, item.described(), wanted));
    } else if (std::any_of(names.begin(), names.end(), same)) {
      at.add(item.place, fmt::format("`{}`: \"{}\" is given twice", key, printable(item.scalar)));
    } else {
      names.push_back({item.scalar, item.place});
    }
  }
  return names;
}

json name_list() {
  return {{"type", "array"}, {"items", reference("name")}, {"minItems", 1}};
}

json flag(const char* description) {
  return described({{"type", "boolean"}}, description);
}

// ---- of every section

const ItemKey kLabel = {
    "label",
    [](const Catalog&) { return described(reference("name"), "Its name in results and figures"); },
    [](const ItemPlace& at, const YamlNode::Member& member, ManifestItem& item) {
      item.label = read_name(at, member);
    }};

// ---- averaging

const ItemSection kAveragings = {
    "averaging",
    "averaging",
    {kLabel,
     {"of",
      [](const Catalog&) {
        return described(name_list(),
                         "An explicit set, branch@last or branch@step600, instead of windows");
      },
      [](const ItemPlace& at, const YamlNode::Member& member, ManifestItem& item) {
        item.of = read_names(at, member.value, "of", "a list of checkpoints, branch@revision");
      }},
     {"raw", [](const Catalog&) { return flag("false: unaveraged checkpoints leave the grid"); },
      [](const ItemPlace& at, const YamlNode::Member& member, ManifestItem& item) {
        item.raw = read_flag(at, member, true);
      }},
     {"keep",
      [](const Catalog&) { return flag("true: write the averaged weights beside the results"); },
      [](const ItemPlace& at, const YamlNode::Member& member, ManifestItem& item) {
        item.keep = read_flag(at, member, false);
      }}}};

// ---- quantizers

json replicates_schema(const Catalog&) {
  return described(
      closed(
          {{"draws", described({{"type", "integer"}, {"minimum", 1}, {"maximum", kMaxReplicates}},
                               "Disjoint samples of the calibration corpus")},
           {"jitter", described({{"type", "integer"}, {"minimum", 0}, {"maximum", kMaxReplicates}},
                                "Permutations of the same data")},
           {"at", described(name_list(), "first, last, forks, or branch@revision")}}),
      "Repetitions that show the spread");
}

void read_replicates(const ItemPlace& at, const YamlNode::Member& member, ManifestItem& item) {
  ManifestReplicates& out = item.replicates.emplace();
  out.place = member.value.place;
  MappingReader reader(member.value, at.section + ": replicates", at.problems);
  out.draws = static_cast<uint32_t>(reader.integer("draws", 1, 1, kMaxReplicates));
  out.jitter = static_cast<uint32_t>(reader.integer("jitter", 0, 0, kMaxReplicates));
  if (const YamlNode* places = reader.get("at")) {
    out.at = read_names(at, *places, "at", "a list of first, last, forks or branch@revision");
  }
  reader.finish();
}

json written_formats(const Catalog& catalog) {
  json ids = json::array();
  for (const PluginDescription* format : catalog.of_kind(QUENCH_KIND_FORMAT)) {
    if (format->instance && (format->instance->needs & QUENCH_FORMAT_WRITES) != 0) {
      ids.push_back(format->id);
    }
  }
  return ids;
}

json transform_schema(const Catalog& catalog) {
  json members = json::object();
  json ids = json::array();
  for (const PluginDescription* plugin : catalog.of_kind("transform")) {
    members[plugin->id] = parameters_schema(*plugin);
    ids.push_back(plugin->id);
  }
  return described(one_of_ids(std::move(members), ids),
                   "A change of the float model before it is quantized");
}

// `rotation`, or `{smoothquant: {alpha: 0.5}}`.
void read_transform(const ItemPlace& at, const YamlNode::Member& member, ManifestItem& item) {
  const YamlNode& node = member.value;
  item.transform_place = node.place;
  if (node.is_scalar()) {
    item.transform = node.scalar;
    return;
  }
  if (!node.is_mapping() || node.members.size() != 1) {
    at.add(node.place, fmt::format("`transform`: got {}, wanted an id or {{id: {{parameters}}}}",
                                   node.described()));
    return;
  }
  const YamlNode::Member& inner = node.members.front();
  item.transform = inner.key;
  item.transform_place = inner.key_place;
  item.transform_parameters = inner.value;
  if (!inner.value.is_mapping() && !inner.value.is_null()) {
    at.add(inner.value.place, fmt::format("{}: got {}, wanted a mapping of parameters",
                                          printable(inner.key), inner.value.described()));
    item.transform_parameters = {};
  }
}

const ItemSection kQuantizers = {
    "quantizers",
    "quantizer",
    {kLabel,
     {"calibration",
      [](const Catalog&) { return described(reference("name"), "A name in `calibration`"); },
      [](const ItemPlace& at, const YamlNode::Member& member, ManifestItem& item) {
        item.calibration = read_name(at, member);
        item.calibration_place = member.value.place;
      }},
     {"replicates", replicates_schema, read_replicates},
     {"export",
      [](const Catalog& catalog) {
        return described({{"enum", written_formats(catalog)}},
                         "Also write the quantized weights in this file format");
      },
      [](const ItemPlace& at, const YamlNode::Member& member, ManifestItem& item) {
        item.export_as = read_name(at, member);
        item.export_place = member.value.place;
      }},
     {"transform", transform_schema, read_transform}}};

// ---- metrics

void read_weights(const ItemPlace& at, const YamlNode::Member& member, ManifestItem& item) {
  const YamlNode& node = member.value;
  const bool all = node.is_scalar() && node.scalar == "all";
  const bool floating = node.is_scalar() && node.scalar == "float";
  const bool quantized = node.is_scalar() && node.scalar == "quantized";
  if (all || floating || quantized) {
    item.scope.of_float = all || floating;
    item.scope.of_quantized = all || quantized;
  } else {
    at.add(node.place, fmt::format("`of`: got {}, wanted all, float, quantized", node.described()));
  }
}

void read_fused(const ItemPlace& at, const YamlNode::Member& member, ManifestItem& item) {
  item.scope.fused = read_flag(at, member, false);
}

const ItemSection kMetrics = {
    "metrics",
    "metric",
    {kLabel,
     {"of",
      [](const Catalog&) {
        return described({{"enum", {"all", "float", "quantized"}}}, "Which weights it measures");
      },
      read_weights},
     {"fused", [](const Catalog&) { return flag("true: score within the quantization pass"); },
      read_fused},
     {"in_pass",
      [](const Catalog&) {
        json schema = flag("The earlier name of `fused`");
        schema["deprecated"] = true;
        return schema;
      },
      read_fused, "fused"}}};

}  // namespace

void ItemPlace::add(const Place& place, const std::string& message) const {
  problems.add(place, section + ": " + message);
}

const ItemKey* ItemSection::find(const std::string& key) const {
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const ItemKey& each) { return each.name == key; });
  return found != keys.end() ? &*found : nullptr;
}

std::vector<std::string> ItemSection::names() const {
  std::vector<std::string> out;
  for (const ItemKey& key : keys) {
    if (key.now.empty()) {
      out.push_back(key.name);
    }
  }
  return out;
}

const ItemSection& item_section(ItemKind kind) {
  return kind == ItemKind::kAveraging   ? kAveragings
         : kind == ItemKind::kQuantizer ? kQuantizers
                                        : kMetrics;
}

const ItemSection* section_with(const std::string& key) {
  for (const ItemSection* section : {&kAveragings, &kQuantizers, &kMetrics}) {
    if (section->find(key) != nullptr) {
      return section;
    }
  }
  return nullptr;
}

}  // namespace quench
