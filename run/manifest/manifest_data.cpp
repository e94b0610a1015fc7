#include "run/manifest/document_keys.hpp"
#include "run/manifest/fields.hpp"
#include "run/manifest/manifest_schema.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr long long kMaxCount = 1LL << 31;  // so that products of two fit 64 bits

using Entry = ManifestCalibration;
const Fields<Entry> kCalibration([](Fields<Entry>& f) {
  f.name("corpus", &Entry::corpus, "A name in `corpora`").required();
  f.integer("documents", &Entry::documents, 1, kMaxCount, "How many documents; default: all");
  f.integer("sequences", &Entry::sequences, 1, kMaxCount,
            "With packing concat: how many sequences");
  f.integer("length", &Entry::length, 2, kMaxCount, "Ids per sequence");
  f.either("packing", &Entry::packing, "concat", "none").schema({{"enum", {"none", "concat"}}});
  f.either("pads", &Entry::pads, "masked", "counted", "counted: pads attend and count");
  f.integer("pad_batch", &Entry::pad_batch, 1, kMaxCount,
            "Documents per batch, padded to the longest");
  f.integer("pad_id", &Entry::pad_id, 0, kMaxCount - 1, "Id of the padding token");
});

// Attending padding, as in batches of published tools.
void check_pads(const ManifestCalibration& entry, MappingReader& reader) {
  const YamlNode* pads = reader.get("pads");
  if (entry.pads == "counted") {
    if (entry.pad_id < 0) {
      reader.add(pads->place, "pads counted needs `pad_id`, the id of the padding token");
    }
    if (entry.packing == "concat") {
      reader.add(pads->place, "packing concat makes no pads to count");
    }
  } else if (entry.pads == "masked") {
    const YamlNode* id = reader.get("pad_id");
    const YamlNode* given = id != nullptr ? id : reader.get("pad_batch");
    if (given != nullptr) {
      reader.add(given->place, "only `pads: counted` makes pads");
    }
  }
}

void check_packing(const ManifestCalibration& entry, MappingReader& reader) {
  if (entry.packing == "concat" && (entry.sequences == 0 || entry.length == 0)) {
    reader.add(entry.place, "packing concat needs `sequences` and `length`");
  } else if (entry.packing == "none" && entry.sequences > 0) {
    reader.add(entry.place, "packing none takes `documents`, not `sequences`");
  }
}

ManifestCalibration read_calibration(const YamlNode::Member& member, Problems& problems) {
  ManifestCalibration entry;
  entry.name = member.key;
  entry.place = member.key_place;
  MappingReader reader(member.value, "calibration " + member.key, problems);
  kCalibration.read_keys(reader, entry);
  reader.finish();
  if (entry.packing.empty()) {
    entry.packing = entry.sequences > 0 ? "concat" : "none";
  }
  if (member.value.is_mapping()) {
    check_pads(entry, reader);
    check_packing(entry, reader);
  }
  if (entry.pads != "counted") {
    entry.pad_batch = 0;
  }
  return entry;
}

// The keys beside a corpus plugin's id.
using Corpus = ManifestCorpus;
const Fields<Corpus> kCorpus([](Fields<Corpus>& f) {
  f.either("part", &Corpus::part, "training", "held_out", "Only this part of the documents");
  f.number("held_out", &Corpus::held_out, "The share of documents to hold out")
      .schema({{"exclusiveMinimum", 0}, {"exclusiveMaximum", 1}})
      .without("minimum");
});

void check_part(MappingReader& reader, const ManifestCorpus& out) {
  const YamlNode* part = reader.get("part");
  const YamlNode* share = reader.get("held_out");
  if ((part == nullptr) != (share == nullptr)) {
    reader.add((part != nullptr ? part : share)->place,
               "`part` and `held_out` go together: which part, and the share that is held out");
  } else if (share != nullptr && (out.held_out <= 0 || out.held_out >= 1)) {
    reader.add(share->place,
               fmt::format("held_out = {}, wanted a share between 0 and 1", share->scalar));
  }
}

ManifestCorpus read_corpus(const YamlNode::Member& member, Problems& problems) {
  ManifestCorpus out;
  out.name = member.key;
  out.place = member.key_place;
  const YamlNode::Member* inner = nullptr;
  size_t ids = 0;
  for (const YamlNode::Member& entry : member.value.members) {
    if (kCorpus.find(entry.key) == nullptr) {
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
  MappingReader reader(member.value, "corpora: " + member.key, problems);
  kCorpus.read_keys(reader, out);
  check_part(reader, out);
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

json calibration_schema() {
  return {{"type", json::array({"object", "null"})},
          {"additionalProperties", kCalibration.schema()}};
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
  kCorpus.add_properties(catalog, kinds);
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
