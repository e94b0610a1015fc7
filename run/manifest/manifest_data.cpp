#include "run/manifest/manifest_data.hpp"

#include "core/error.hpp"

namespace quench {

namespace {

constexpr long long kMaxCount = 1LL << 31;  // so that products of two fit 64 bits

// Pads that count, as in batches of published tools.
void read_pads(MappingReader& reader, const std::string& where, ManifestCalibration& out,
               Problems& problems) {
  const std::string pads = reader.text("pads", "masked");
  const auto batch = reader.integer("pad_batch", 16, 1, kMaxCount);
  out.pad_id = reader.integer("pad_id", -1, 0, kMaxCount - 1);
  const YamlNode* node = reader.get("pads");
  if (pads == "counted") {
    out.pad_batch = static_cast<uint64_t>(batch);
    if (out.pad_id < 0) {
      problems.add(node->place, where + ": pads counted needs `pad_id`, the token of a pad");
    }
    if (out.packing == "concat") {
      problems.add(node->place, where + ": packing concat makes no pads to count");
    }
  } else if (pads != "masked") {
    problems.add(node->place, fmt::format("{}: pads = \"{}\", expected masked or counted", where,
                                          printable(pads)));
  } else if (const YamlNode* given =
                 reader.get("pad_id") != nullptr ? reader.get("pad_id") : reader.get("pad_batch")) {
    problems.add(given->place, where + ": only `pads: counted` makes pads");
  }
}

ManifestCalibration read_calibration(const YamlNode::Member& member, Problems& problems) {
  const std::string where = "calibration " + member.key;
  ManifestCalibration out;
  out.name = member.key;
  out.place = member.key_place;
  MappingReader reader(member.value, where, problems);
  if (const YamlNode* corpus = reader.require("corpus")) {
    out.corpus = reader.text("corpus", "");
    out.corpus_place = corpus->place;
  }
  out.documents = static_cast<uint64_t>(reader.integer("documents", 0, 1, kMaxCount));
  out.sequences = static_cast<uint64_t>(reader.integer("sequences", 0, 1, kMaxCount));
  out.length = static_cast<uint64_t>(reader.integer("length", 0, 2, kMaxCount));
  const bool by_sequence = out.sequences > 0;
  out.packing = reader.text("packing", by_sequence ? "concat" : "none");
  read_pads(reader, where, out, problems);
  reader.finish();
  if (!member.value.is_mapping()) {
    return out;
  }
  if (out.packing != "concat" && out.packing != "none") {
    problems.add(member.value.find("packing")->place,
                 fmt::format("{}: packing = \"{}\", expected concat or none", where,
                             printable(out.packing)));
  } else if (out.packing == "concat" && (out.sequences == 0 || out.length == 0)) {
    problems.add(out.place, where + ": packing concat needs `sequences` and `length`");
  } else if (out.packing == "none" && out.sequences > 0) {
    problems.add(out.place, where + ": packing none takes `documents`, not `sequences`");
  }
  return out;
}

// Which part of its documents a corpus stands for.
void read_part(const YamlNode& node, const std::string& where, ManifestCorpus& out,
               Problems& problems) {
  MappingReader reader(node, where, problems);
  for (const YamlNode::Member& member : node.members) {
    if (member.key != "part" && member.key != "held_out") {
      reader.get(member.key);  // the plugin's
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
    if (entry.key != "part" && entry.key != "held_out") {
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

std::vector<ManifestCalibration> read_calibrations(const YamlNode* node, Problems& problems) {
  return read_named<ManifestCalibration>(node, "calibration", read_calibration, problems);
}

std::vector<ManifestCorpus> read_corpora(const YamlNode* node, Problems& problems) {
  return read_named<ManifestCorpus>(node, "corpora", read_corpus, problems);
}

}  // namespace quench
