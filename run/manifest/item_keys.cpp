#include "run/manifest/item_keys.hpp"

#include <algorithm>

#include "quench/abi/kind/format.h"
#include "quench/abi/kind/transform.h"

namespace quench {

namespace {

using nlohmann::json;

constexpr long long kMaxReplicates = 10'000;
constexpr size_t kMaxName = 4096;  // bytes

// ---- values

std::optional<std::string> plain_name(const std::string& text) {
  return printable(text, kMaxName) == text ? std::optional(text) : std::nullopt;
}

// `where` begins the errors.
std::vector<PlacedText> read_names(const YamlNode& list, const std::string& where,
                                   const std::string& wanted, Problems& problems) {
  std::vector<PlacedText> names;
  if (!list.is_sequence() || list.items.empty()) {
    problems.add(list.place,
                 fmt::format("{}: got {}, wanted {}", where,
                             list.is_sequence() ? "an empty list" : list.described(), wanted));
    return names;
  }
  for (const YamlNode& item : list.items) {
    const auto same = [&](const PlacedText& earlier) { return earlier.value == item.scalar; };
    if (!item.is_scalar()) {
      problems.add(item.place,
                   fmt::format("{}: got {}, wanted {}", where, item.described(), wanted));
    } else if (std::any_of(names.begin(), names.end(), same)) {
      problems.add(item.place,
                   fmt::format("{}: \"{}\" is given twice", where, printable(item.scalar)));
    } else {
      names.push_back({item.scalar, item.place});
    }
  }
  return names;
}

json name_list(const char* description) {
  return described({{"type", "array"}, {"items", reference("name")}, {"minItems", 1}}, description);
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
      f.own("of", name_list("An explicit set, branch@last or branch@step600, instead of windows"),
            [](MappingReader& reader, Item& item) {
              if (const YamlNode* node = reader.get("of")) {
                item.of = read_names(*node, reader.where() + ": `of`",
                                     "a list of checkpoints, branch@revision", reader.problems());
              }
            });
      f.flag("raw", &Item::raw, "false: unaveraged checkpoints leave the grid");
      f.flag("keep", &Item::keep, "true: write the averaged weights beside the results");
    })};

// ---- quantizers

const Fields<ManifestReplicates> kReplicates([](Fields<ManifestReplicates>& f) {
  f.integer("draws", &ManifestReplicates::draws, 1, kMaxReplicates,
            "Disjoint samples of the calibration corpus");
  f.integer("jitter", &ManifestReplicates::jitter, 0, kMaxReplicates,
            "Permutations of the same data");
  f.own("at", name_list("first, last, forks, or branch@revision"),
        [](MappingReader& reader, ManifestReplicates& out) {
          if (const YamlNode* node = reader.get("at")) {
            out.at =
                read_names(*node, "quantizers: `at`",
                           "a list of first, last, forks or branch@revision", reader.problems());
          }
        });
});

json written_formats(const Catalog& catalog) {
  json ids = json::array();
  for (const PluginDescription* format : catalog.of_kind(QUENCH_KIND_FORMAT)) {
    if (format->instance && (format->instance->needs & QUENCH_FORMAT_WRITES) != 0) {
      ids.push_back(format->id);
    }
  }
  return described({{"enum", ids}}, "Also write the quantized weights in this file format");
}

json transform_schema(const Catalog& catalog) {
  return described(plugin_schema(catalog, QUENCH_KIND_TRANSFORM),
                   "A change of the float model before it is quantized");
}

const ItemSection kQuantizers{
    "quantizers", "quantizer", ItemFields([](ItemFields& f) {
      add_label(f);
      add_name(f, "calibration", &Item::calibration, "A name in `calibration`");
      f.section("replicates", &Item::replicates, kReplicates, "Repetitions that show the spread");
      add_name(f, "export", &Item::export_as, "").schema(written_formats);
      f.own("transform", transform_schema, [](MappingReader& reader, Item& item) {
        if (reader.get("transform") != nullptr) {
          item.transform = read_plugin(reader, "transform", "an id or {id: {parameters}}");
        }
      });
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

bool& fused(ManifestItem& item) {
  return item.scope.fused;
}

const ItemSection kMetrics{
    "metrics", "metric", ItemFields([](ItemFields& f) {
      add_label(f);
      f.own("of",
            {{"enum", {"all", "float", "quantized"}}, {"description", "Which weights it measures"}},
            read_weights);
      f.flag("fused", fused, "true: score within the quantization pass");
      f.flag("in_pass", fused, "The earlier name of `fused`").renamed_to("fused");
    })};

}  // namespace

std::vector<std::string> ItemSection::names() const {
  std::vector<std::string> out;
  for (const auto& key : keys.all()) {
    if (key.now().empty()) {
      out.push_back(key.name());
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
    if (section->keys.find(key) != nullptr) {
      return section;
    }
  }
  return nullptr;
}

}  // namespace quench
