#include "run/manifest/manifest_items.hpp"

#include "core/error.hpp"
#include "core/plugin/host_services.hpp"

namespace quench {

namespace {

class ItemReader {
 public:
  ItemReader(const ItemSection& section, Problems& problems)
      : section_(section), at_{section.name, problems} {}

  ManifestItem read(const YamlNode& node) {
    ManifestItem item;
    item.place = node.place;
    if (node.is_scalar()) {  // `- rtn` is `- rtn: {}`
      item.id = node.scalar;
      return item;
    }
    if (!node.is_mapping()) {
      at_.add(node.place, fmt::format("got {}, wanted `- id: {{parameters}}`", node.described()));
      return item;
    }
    for (const YamlNode::Member& member : node.members) {
      if (const ItemKey* key = section_.find(member.key)) {
        read_key(*key, member, item);
      } else if (const ItemSection* other = section_with(member.key)) {
        at_.add(member.key_place, fmt::format("`{}` goes with {}, not here; {}", member.key,
                                              other->name, keys_here()));
      } else if (!item.id.empty()) {
        at_.add(member.key_place, two_ids(item.id, member.key));
      } else {
        read_id(member, item);
      }
    }
    if (item.id.empty()) {
      at_.add(node.place, "an entry without an id");
    }
    if (item.scope.fused && !item.scope.of_quantized) {
      at_.add(item.place, "`fused` is about quantized weights, and `of: float` leaves them out");
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

  void read_key(const ItemKey& key, const YamlNode::Member& member, ManifestItem& item) const {
    key.read(at_, member, item);
    if (!key.now.empty()) {
      HostServices::instance().log(
          QUENCH_LOG_WARNING, "",
          fmt::format("{}: {}: `{}` is called `{}` by now; the next version refuses it",
                      member.key_place.text(), section_.name, key.name, key.now));
    }
  }

  void read_id(const YamlNode::Member& member, ManifestItem& item) const {
    item.id = member.key;
    item.place = member.key_place;
    item.parameters = member.value;
    if (!member.value.is_mapping() && !member.value.is_null()) {
      at_.add(member.value.place, fmt::format("{}: got {}, wanted a mapping of parameters",
                                              printable(item.id), member.value.described()));
      item.parameters = {};
    }
  }

  const ItemSection& section_;
  ItemPlace at_;
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

}  // namespace quench
