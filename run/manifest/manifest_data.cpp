#include "run/manifest/document_keys.hpp"
#include "run/manifest/fields.hpp"
#include "run/manifest/manifest_items.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr long long kMaxCount = 1LL << 31;  // so that products of two fit 64 bits

using Entry = ManifestCalibration;

// Attending padding, as in batches of published tools.
void check_pads(MappingReader& reader, Entry& entry) {
  const YamlNode* pads = reader.get("pads");
  if (entry.pads == "counted") {
    if (entry.pad_id < 0) {
      reader.add(pads->place, "pads counted needs `pad_id`, the id of the padding token");
    }
    if (entry.packing == "concat") {
      reader.add(pads->place, "packing concat makes no pads to count");
    }
    return;
  }
  const YamlNode* id = reader.get("pad_id");
  const YamlNode* given = id != nullptr ? id : reader.get("pad_batch");
  if (given != nullptr && entry.pads == "masked") {
    reader.add(given->place, "only `pads: counted` makes pads");
  }
  entry.pad_batch = 0;
}

void check_packing(MappingReader& reader, Entry& entry) {
  if (entry.packing.empty()) {
    entry.packing = entry.sequences > 0 ? "concat" : "none";
  }
  if (entry.packing == "concat" && (entry.sequences == 0 || entry.length == 0)) {
    reader.add(entry.place, "packing concat needs `sequences` and `length`");
  } else if (entry.packing == "none" && entry.sequences > 0) {
    reader.add(entry.place, "packing none takes `documents`, not `sequences`");
  }
}

const Fields<Entry> kCalibration([](Fields<Entry>& f) {
  f.name("corpus", &Entry::corpus, "A name in `corpora`").required();
  f.integer("documents", &Entry::documents, 1, kMaxCount, "How many documents; default: all");
  f.integer("sequences", &Entry::sequences, 1, kMaxCount,
            "With packing concat: how many sequences");
  f.integer("length", &Entry::length, 2, kMaxCount, "Ids per sequence");
  f.either("packing", &Entry::packing, "concat", "none")
      .schema({{"enum", {"none", "concat"}}})
      .then(check_packing);
  f.either("pads", &Entry::pads, "masked", "counted", "counted: pads attend and count");
  f.integer("pad_batch", &Entry::pad_batch, 1, kMaxCount,
            "Documents per batch, padded to the longest");
  f.integer("pad_id", &Entry::pad_id, 0, kMaxCount - 1, "Id of the padding token").then(check_pads);
});

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
               fmt::format("`held_out`: got {}, wanted a share between 0 and 1", share->scalar));
  }
}

}  // namespace

const Fields<ManifestCalibration>& calibration_keys() {
  return kCalibration;
}

void read_corpus(const YamlNode::Member& member, MappingReader& outer, Manifest& manifest) {
  ManifestCorpus& out = manifest.corpora.emplace_back();
  out.name = member.key;
  out.place = member.key_place;
  const std::string where = "corpora: " + member.key;
  const YamlNode::Member* inner = nullptr;
  size_t ids = 0;
  for (const YamlNode::Member& entry : member.value.members) {
    if (kCorpus.find(entry.key) == nullptr) {
      inner = &entry;
      ++ids;
    }
  }
  if (!member.value.is_mapping() || ids != 1) {
    outer.problems().add(member.value.place,
                         where + ": " + unlike(member.value, "`{kind: {parameters}}`"));
    return;
  }
  MappingReader reader(member.value, where, outer.problems());
  kCorpus.read_keys(reader, out);
  check_part(reader, out);
  take_plugin(*inner, where + ": ", outer.problems(), out);
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
  return {{"type", "object"}, {"additionalProperties", one}};
}

}  // namespace quench
