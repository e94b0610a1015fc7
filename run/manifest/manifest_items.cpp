#include "run/manifest/manifest_items.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace quench {

namespace {

constexpr long long kMaxReplicates = 10'000;
constexpr size_t kMaxName = 4096;  // bytes

struct Section {
  std::string name;
  std::vector<std::string> host_keys;
};

const Section& section_of(ItemKind kind) {
  static const Section kAveragings = {"averaging", {"label", "of", "raw", "keep"}};
  static const Section kQuantizers = {
      "quantizers", {"label", "calibration", "replicates", "export", "transform"}};
  static const Section kMetrics = {"metrics", {"label", "of", "in_pass"}};
  return kind == ItemKind::kAveraging   ? kAveragings
         : kind == ItemKind::kQuantizer ? kQuantizers
                                        : kMetrics;
}

bool contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

class ItemReader {
 public:
  ItemReader(ItemKind kind, Problems& problems) : section_(section_of(kind)), problems_(problems) {}

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
    for (const YamlNode::Member& member : node.members) {
      if (contains(section_.host_keys, member.key)) {
        read_host_key(member, item);
      } else if (std::string why = no_key_here(member.key); !why.empty()) {
        add(member.key_place, why);
      } else if (!item.id.empty()) {
        add(member.key_place, two_ids(item.id, member.key));
      } else {
        read_id(member, item);
      }
    }
    if (item.id.empty()) {
      add(node.place, "an entry without an id");
    }
    if (item.in_pass && item.of_weights == "float") {
      add(item.place, "`in_pass` is about quantized weights, and `of: float` leaves them out");
    }
    return item;
  }

 private:
  void add(const Place& place, const std::string& message) {
    problems_.add(place, section_.name + ": " + message);
  }

  std::string keys_here() const {
    return fmt::format("keys beside an id are {}", fmt::join(section_.host_keys, ", "));
  }

  // Why a key that is the host's elsewhere is none here; "" for an id.
  std::string no_key_here(const std::string& key) const {
    for (const ItemKind other : {ItemKind::kAveraging, ItemKind::kQuantizer, ItemKind::kMetric}) {
      if (contains(section_of(other).host_keys, key)) {
        return fmt::format("`{}` goes with {}, not here; {}", key, section_of(other).name,
                           keys_here());
      }
    }
    return "";
  }

  std::string two_ids(const std::string& first, const std::string& second) const {
    const std::string near = nearest(second, section_.host_keys);
    return fmt::format("two ids in one entry, `{}` and `{}`; {}", printable(first),
                       printable(second),
                       near.empty() ? fmt::format("each needs a `- ` of its own ({})", keys_here())
                                    : fmt::format("did you mean `{}`?", near));
  }

  void read_id(const YamlNode::Member& member, ManifestItem& item) {
    item.id = member.key;
    item.place = member.key_place;
    item.parameters = member.value;
    if (!member.value.is_mapping() && !member.value.is_null()) {
      add(member.value.place, fmt::format("{}: got {}, wanted a mapping of parameters",
                                          printable(item.id), member.value.described()));
      item.parameters = {};
    }
  }

  // A name, or "" after saying what is wrong.
  std::string name_of(const YamlNode::Member& member) {
    const bool is_name =
        member.value.is_scalar() && printable(member.value.scalar, kMaxName) == member.value.scalar;
    if (is_name) {
      return member.value.scalar;
    }
    add(member.value.place,
        fmt::format("`{}`: got {}, wanted a name", member.key, member.value.described()));
    return "";
  }

  bool flag_of(const YamlNode::Member& member, bool otherwise) {
    const YamlNode& value = member.value;
    if (value.is_scalar() && !value.quoted && (value.scalar == "true" || value.scalar == "false")) {
      return value.scalar == "true";
    }
    add(value.place,
        fmt::format("`{}`: got {}, wanted true or false", member.key, value.described()));
    return otherwise;
  }

  std::vector<PlacedText> names_of(const YamlNode& list, const std::string& key,
                                   const std::string& wanted) {
    std::vector<PlacedText> names;
    if (!list.is_sequence() || list.items.empty()) {
      add(list.place, fmt::format("`{}`: got {}, wanted {}", key,
                                  list.is_sequence() ? "an empty list" : list.described(), wanted));
      return names;
    }
    for (const YamlNode& item : list.items) {
      const auto same = [&](const PlacedText& earlier) { return earlier.text == item.scalar; };
      if (!item.is_scalar()) {
        add(item.place, fmt::format("`{}`: got {}, wanted {}", key, item.described(), wanted));
      } else if (std::any_of(names.begin(), names.end(), same)) {
        add(item.place, fmt::format("`{}`: \"{}\" is given twice", key, printable(item.scalar)));
      } else {
        names.push_back({item.scalar, item.place});
      }
    }
    return names;
  }

  ManifestReplicates replicates_of(const YamlNode& node) {
    ManifestReplicates out;
    out.place = node.place;
    MappingReader reader(node, section_.name + ": replicates", problems_);
    out.draws = static_cast<uint32_t>(reader.integer("draws", 1, 1, kMaxReplicates));
    out.jitter = static_cast<uint32_t>(reader.integer("jitter", 0, 0, kMaxReplicates));
    if (const YamlNode* at = reader.get("at")) {
      out.at = names_of(*at, "at", "a list of first, last, forks or branch@revision");
    }
    reader.finish();
    return out;
  }

  // `rotation`, or `{smoothquant: {alpha: 0.5}}`.
  void read_transform(const YamlNode& node, ManifestItem& item) {
    item.transform_place = node.place;
    if (node.is_scalar()) {
      item.transform = node.scalar;
      return;
    }
    if (!node.is_mapping() || node.members.size() != 1) {
      add(node.place, fmt::format("`transform`: got {}, wanted an id or {{id: {{parameters}}}}",
                                  node.described()));
      return;
    }
    const YamlNode::Member& member = node.members.front();
    item.transform = member.key;
    item.transform_place = member.key_place;
    item.transform_parameters = member.value;
    if (!member.value.is_mapping() && !member.value.is_null()) {
      add(member.value.place, fmt::format("{}: got {}, wanted a mapping of parameters",
                                          printable(member.key), member.value.described()));
      item.transform_parameters = {};
    }
  }

  void read_weights(const YamlNode::Member& member, ManifestItem& item) {
    static const std::vector<std::string> kKinds = {"all", "float", "quantized"};
    const YamlNode& node = member.value;
    if (node.is_scalar() && contains(kKinds, node.scalar)) {
      item.of_weights = node.scalar;
    } else {
      add(node.place,
          fmt::format("`of`: got {}, wanted {}", node.described(), fmt::join(kKinds, ", ")));
    }
  }

  void read_host_key(const YamlNode::Member& member, ManifestItem& item) {
    if (member.key == "label") {
      item.label = name_of(member);
    } else if (member.key == "calibration") {
      item.calibration = name_of(member);
      item.calibration_place = member.value.place;
    } else if (member.key == "replicates") {
      item.replicates = replicates_of(member.value);
    } else if (member.key == "export") {
      item.export_as = name_of(member);
      item.export_place = member.value.place;
    } else if (member.key == "transform") {
      read_transform(member.value, item);
    } else if (member.key == "of" && section_.name == "metrics") {
      read_weights(member, item);
    } else if (member.key == "of") {
      item.of = names_of(member.value, "of", "a list of checkpoints, branch@revision");
    } else if (member.key == "raw") {
      item.raw = flag_of(member, true);
    } else if (member.key == "in_pass") {
      item.in_pass = flag_of(member, false);
    } else {
      item.keep = flag_of(member, false);
    }
  }

  const Section& section_;
  Problems& problems_;
};

}  // namespace

const std::vector<std::string>& keys_beside_id(ItemKind kind) {
  return section_of(kind).host_keys;
}

std::vector<ManifestItem> read_items(const YamlNode* node, ItemKind kind, Problems& problems) {
  std::vector<ManifestItem> items;
  if (node == nullptr || node->is_null()) {
    return items;
  }
  if (!node->is_sequence()) {
    problems.add(node->place, fmt::format("{}: got {}, wanted a list", section_of(kind).name,
                                          node->described()));
    return items;
  }
  ItemReader reader(kind, problems);
  for (const YamlNode& entry : node->items) {
    items.push_back(reader.read(entry));
  }
  return items;
}

}  // namespace quench
