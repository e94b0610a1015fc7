#include "run/manifest/manifest_data.hpp"

#include <algorithm>
#include <iterator>

#include "core/error.hpp"
#include "run/manifest/manifest_schema.hpp"
#include "run/manifest/section_keys.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr long long kMaxCount = 1LL << 31;  // so that products of two fit 64 bits

// One entry of `calibration` with what only reading it needs.
struct CalibrationEntry {
  const YamlNode& node;
  std::string where;
  Problems& problems;
  ManifestCalibration out = {};
  std::string pads = {};
  uint64_t pad_batch = 0;
};
using CalibrationKey = SectionKey<CalibrationEntry>;

json count(const char* description, long long minimum = 1) {
  return described({{"type", "integer"}, {"minimum", minimum}, {"maximum", kMaxCount}},
                   description);
}

const std::vector<CalibrationKey> kCalibrationKeys = {
    {"corpus", [](const Catalog&) { return described(reference("name"), "A name in `corpora`"); },
     [](MappingReader& reader, CalibrationEntry& entry) {
       if (const YamlNode* corpus = reader.require("corpus")) {
         entry.out.corpus = reader.text("corpus", "");
         entry.out.corpus_place = corpus->place;
       }
     },
     true},
    {"documents", [](const Catalog&) { return count("How many documents; default: all"); },
     [](MappingReader& reader, CalibrationEntry& entry) {
       entry.out.documents = static_cast<uint64_t>(reader.integer("documents", 0, 1, kMaxCount));
     }},
    {"sequences", [](const Catalog&) { return count("With packing concat: how many sequences"); },
     [](MappingReader& reader, CalibrationEntry& entry) {
       entry.out.sequences = static_cast<uint64_t>(reader.integer("sequences", 0, 1, kMaxCount));
     }},
    {"length", [](const Catalog&) { return count("Ids per sequence", 2); },
     [](MappingReader& reader, CalibrationEntry& entry) {
       entry.out.length = static_cast<uint64_t>(reader.integer("length", 0, 2, kMaxCount));
     }},
    {"packing",
     [](const Catalog&) {
       return json{{"enum", {"none", "concat"}}};
     },
     [](MappingReader& reader, CalibrationEntry& entry) {
       entry.out.packing = reader.text("packing", entry.out.sequences > 0 ? "concat" : "none");
     }},
    {"pads",
     [](const Catalog&) {
       return described({{"enum", {"masked", "counted"}}}, "counted: pads attend and count");
     },
     [](MappingReader& reader, CalibrationEntry& entry) {
       entry.pads = reader.text("pads", "masked");
     }},
    {"pad_batch",
     [](const Catalog&) { return count("Documents per batch, padded to the longest"); },
     [](MappingReader& reader, CalibrationEntry& entry) {
       entry.pad_batch = static_cast<uint64_t>(reader.integer("pad_batch", 16, 1, kMaxCount));
     }},
    {"pad_id",
     [](const Catalog&) {
       return described({{"type", "integer"}, {"minimum", 0}, {"maximum", kMaxCount - 1}},
                        "Id of the padding token");
     },
     [](MappingReader& reader, CalibrationEntry& entry) {
       entry.out.pad_id = reader.integer("pad_id", -1, 0, kMaxCount - 1);
     }}};

// Attending padding, as in batches of published tools.
void check_pads(CalibrationEntry& entry) {
  ManifestCalibration& out = entry.out;
  const YamlNode* node = entry.node.find("pads");
  if (entry.pads == "counted") {
    out.pad_batch = entry.pad_batch;
    if (out.pad_id < 0) {
      entry.problems.add(
          node->place, entry.where + ": pads counted needs `pad_id`, the id of the padding token");
    }
    if (out.packing == "concat") {
      entry.problems.add(node->place, entry.where + ": packing concat makes no pads to count");
    }
  } else if (entry.pads != "masked") {
    entry.problems.add(node->place, fmt::format("{}: pads = \"{}\", expected masked or counted",
                                                entry.where, printable(entry.pads)));
  } else if (const YamlNode* given = entry.node.find("pad_id") != nullptr
                                         ? entry.node.find("pad_id")
                                         : entry.node.find("pad_batch")) {
    entry.problems.add(given->place, entry.where + ": only `pads: counted` makes pads");
  }
}

void check_packing(const CalibrationEntry& entry) {
  const ManifestCalibration& out = entry.out;
  if (out.packing != "concat" && out.packing != "none") {
    entry.problems.add(entry.node.find("packing")->place,
                       fmt::format("{}: packing = \"{}\", expected concat or none", entry.where,
                                   printable(out.packing)));
  } else if (out.packing == "concat" && (out.sequences == 0 || out.length == 0)) {
    entry.problems.add(out.place, entry.where + ": packing concat needs `sequences` and `length`");
  } else if (out.packing == "none" && out.sequences > 0) {
    entry.problems.add(out.place,
                       entry.where + ": packing none takes `documents`, not `sequences`");
  }
}

ManifestCalibration read_calibration(const YamlNode::Member& member, Problems& problems) {
  CalibrationEntry entry{member.value, "calibration " + member.key, problems};
  entry.out.name = member.key;
  entry.out.place = member.key_place;
  MappingReader reader(member.value, entry.where, problems);
  read_section<CalibrationEntry>(kCalibrationKeys, reader, entry);
  if (member.value.is_mapping()) {
    check_pads(entry);
    check_packing(entry);
  }
  return std::move(entry.out);
}

// A key beside a corpus plugin's id.
struct BesideKey {
  std::string name;
  json (*schema)();
};
const BesideKey kBesideKeys[] = {
    {"part",
     [] {
       return described({{"enum", {"training", "held_out"}}}, "Only this part of the documents");
     }},
    {"held_out", [] {
       return described({{"type", "number"}, {"exclusiveMinimum", 0}, {"exclusiveMaximum", 1}},
                        "The share of documents to hold out");
     }}};

bool is_beside_key(const std::string& key) {
  return std::any_of(std::begin(kBesideKeys), std::end(kBesideKeys),
                     [&](const BesideKey& each) { return each.name == key; });
}

// Reads which part of its documents a corpus stands for.
void read_part(const YamlNode& node, const std::string& where, ManifestCorpus& out,
               Problems& problems) {
  MappingReader reader(node, where, problems);
  for (const YamlNode::Member& member : node.members) {
    if (!is_beside_key(member.key)) {
      reader.get(member.key);  // belongs to the plugin
    }
  }
  out.part = reader.text("part", "");
  out.held_out = reader.number("held_out", 0, 0);
  const YamlNode* part = reader.get("part");
  const YamlNode* share = reader.get("held_out");
  if (part != nullptr && out.part != "training" && out.part != "held_out") {
    problems.add(part->place, fmt::format("{}: part = \"{}\", expected training or held_out", where,
                                          printable(out.part)));
  }
  if ((part == nullptr) != (share == nullptr)) {
    problems.add((part != nullptr ? part : share)->place,
                 fmt::format("{}: `part` and `held_out` go together: which part, and the share "
                             "that is held out",
                             where));
  } else if (share != nullptr && (out.held_out <= 0 || out.held_out >= 1)) {
    problems.add(share->place, fmt::format("{}: held_out = {}, expected a share between 0 and 1",
                                           where, share->scalar));
  }
}

ManifestCorpus read_corpus(const YamlNode::Member& member, Problems& problems) {
  ManifestCorpus out;
  out.name = member.key;
  out.place = member.key_place;
  const YamlNode::Member* inner = nullptr;
  size_t ids = 0;
  for (const YamlNode::Member& entry : member.value.members) {
    if (!is_beside_key(entry.key)) {
      inner = &entry;
      ++ids;
    }
  }
  if (!member.value.is_mapping() || ids != 1) {
    problems.add(member.value.place, fmt::format("corpora: {}: got {}, wanted `{{kind: "
                                                 "{{parameters}}}}`",
                                                 member.key, member.value.described()));
    return out;
  }
  read_part(member.value, "corpora: " + member.key, out, problems);
  out.id = inner->key;
  out.place = inner->key_place;
  out.parameters = inner->value;
  if (!inner->value.is_mapping() && !inner->value.is_null()) {
    problems.add(inner->value.place,
                 fmt::format("corpora: {}: {}: got {}, wanted a mapping of parameters", member.key,
                             inner->key, inner->value.described()));
    out.parameters = {};
  }
  return out;
}

template <typename Out, typename Read>
std::vector<Out> read_named(const YamlNode* node, const std::string& where, Read read,
                            Problems& problems) {
  std::vector<Out> out;
  if (node == nullptr || node->is_null()) {
    return out;
  }
  if (!node->is_mapping()) {
    problems.add(node->place,
                 fmt::format("{}: got {}, wanted a mapping of names", where, node->described()));
    return out;
  }
  for (const YamlNode::Member& member : node->members) {
    out.push_back(read(member, problems));
  }
  return out;
}

}  // namespace

json calibration_schema(const Catalog& catalog) {
  return {{"type", json::array({"object", "null"})},
          {"additionalProperties", section_schema<CalibrationEntry>(kCalibrationKeys, catalog)}};
}

json corpora_schema(const Catalog& catalog) {
  json kinds = json::object();
  json one_id = json::array();
  for (const PluginDescription* plugin : catalog.of_kind("corpus")) {
    kinds[plugin->id] = parameters_schema(*plugin);
  }
  for (const auto& [id, unused] : kinds.items()) {
    one_id.push_back({{"required", {id}}});
  }
  for (const BesideKey& key : kBesideKeys) {
    kinds[key.name] = key.schema();
  }
  json one = closed(kinds);
  one["dependencies"] = {{"part", {"held_out"}}, {"held_out", {"part"}}};
  if (!one_id.empty()) {
    one["oneOf"] = one_id;
  }
  return {{"type", json::array({"object", "null"})}, {"additionalProperties", one}};
}

std::vector<ManifestCalibration> read_calibrations(const YamlNode* node, Problems& problems) {
  return read_named<ManifestCalibration>(node, "calibration", read_calibration, problems);
}

std::vector<ManifestCorpus> read_corpora(const YamlNode* node, Problems& problems) {
  return read_named<ManifestCorpus>(node, "corpora", read_corpus, problems);
}

}  // namespace quench
