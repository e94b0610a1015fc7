#include "core/config/manifest.hpp"

#include <algorithm>

#include "core/config/problems.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

constexpr long long kMaxCount = 1LL << 31;  // so that products of two fit 64 bits

// Sections of the full manifest that this version does not run. They are refused by name, because a
// section that is silently not acted on is worse than none.
const std::vector<std::string> kLaterSections = {"averaging", "sweep",   "requires",  "train",
                                                 "storage",   "cluster", "contrasts", "report"};

// Keys that people put at the top, and where they belong.
const std::vector<std::pair<std::string, std::string>> kHomes = {
    {"model", "under `checkpoints`"},
    {"tokenizer", "under `checkpoints`"},
    {"revisions", "under `checkpoints`"},
    {"branches", "under `checkpoints`"},
    {"corpus", "under a name in `calibration`, or in a metric's parameters"},
    {"documents", "under a name in `calibration`"},
    {"sequences", "under a name in `calibration`"},
    {"length", "under a name in `calibration`"},
    {"packing", "under a name in `calibration`"}};

// Reads `- id: {...}` with the host keys in `host_keys` beside the id.
ManifestItem read_item(const YamlNode& node, const std::string& where,
                       const std::vector<std::string>& host_keys, Problems& problems) {
  ManifestItem item;
  item.place = node.place;
  if (node.is_scalar()) {  // `- rtn` is `- rtn: {}`
    item.id = node.scalar;
    return item;
  }
  if (!node.is_mapping()) {
    problems.add(node.place,
                 fmt::format("{}: got {}, wanted `- id: {{parameters}}`", where, node.described()));
    return item;
  }
  for (const YamlNode::Member& member : node.members) {
    const bool is_host_key =
        std::find(host_keys.begin(), host_keys.end(), member.key) != host_keys.end();
    if (is_host_key) {
      if (!member.value.is_scalar()) {
        problems.add(member.value.place, fmt::format("{}: `{}`: got {}, wanted a name", where,
                                                     member.key, member.value.described()));
      } else if (member.key == "label") {
        item.label = member.value.scalar;
      } else if (member.key == "calibration") {
        item.calibration = member.value.scalar;
        item.calibration_place = member.value.place;
      }
    } else if (!item.id.empty()) {
      problems.add(member.key_place,
                   fmt::format("{}: two ids in one entry, `{}` and `{}`; each needs a `- ` of its "
                               "own (keys beside an id are {})",
                               where, printable(item.id), printable(member.key),
                               fmt::join(host_keys, ", ")));
    } else {
      item.id = member.key;
      item.place = member.key_place;
      item.parameters = member.value;
      if (!member.value.is_mapping() && !member.value.is_null()) {
        problems.add(member.value.place,
                     fmt::format("{}: {}: got {}, wanted a mapping of parameters", where, item.id,
                                 member.value.described()));
        item.parameters = {};
      }
    }
  }
  if (item.id.empty()) {
    problems.add(node.place, where + ": an entry without an id");
  }
  return item;
}

std::vector<ManifestItem> read_items(const YamlNode* node, const std::string& where,
                                     const std::vector<std::string>& host_keys,
                                     Problems& problems) {
  std::vector<ManifestItem> items;
  if (node == nullptr || node->is_null()) {
    return items;
  }
  if (!node->is_sequence()) {
    problems.add(node->place, fmt::format("{}: got {}, wanted a list", where, node->described()));
    return items;
  }
  for (const YamlNode& entry : node->items) {
    items.push_back(read_item(entry, where, host_keys, problems));
  }
  return items;
}

ManifestCheckpoints read_checkpoints(const YamlNode& node, Problems& problems) {
  ManifestCheckpoints out;
  out.place = node.place;
  MappingReader reader(node, "checkpoints", problems);
  if (const YamlNode* model = reader.require("model")) {
    out.model = reader.text("model", "");
    out.model_place = model->place;
    if (model->is_scalar() && out.model.empty()) {
      problems.add(model->place, "checkpoints: `model` is empty");
    }
    if (out.model == "train") {
      problems.add(model->place, "checkpoints: `model: train` is not supported by this version");
    }
  }
  if (const YamlNode* tokenizer = reader.get("tokenizer")) {
    out.tokenizer = reader.text("tokenizer", "");
    out.tokenizer_place = tokenizer->place;
  }
  if (const YamlNode* revisions = reader.get("revisions")) {
    out.revisions_place = revisions->place;
    if (revisions->is_scalar()) {
      out.pattern = revisions->scalar;
    } else if (revisions->is_sequence() && !revisions->items.empty()) {
      for (const YamlNode& item : revisions->items) {
        const auto same = [&](const auto& earlier) { return earlier.first == item.scalar; };
        if (item.is_scalar() && std::any_of(out.revisions.begin(), out.revisions.end(), same)) {
          problems.add(item.place, fmt::format("checkpoints: revision \"{}\" is given twice",
                                               printable(item.scalar)));
        } else if (item.is_scalar()) {
          out.revisions.emplace_back(item.scalar, item.place);
        } else {
          problems.add(item.place, fmt::format("checkpoints: revisions: got {}, wanted a name",
                                               item.described()));
        }
      }
    } else {
      problems.add(
          revisions->place,
          fmt::format("checkpoints: `revisions`: got {}, wanted a pattern like "
                      "\"step{{step}}\" or a list of names",
                      revisions->is_sequence() ? "an empty list" : revisions->described()));
    }
  }
  if (const YamlNode* branches = reader.get("branches")) {
    problems.add(branches->place, "checkpoints: `branches` is not supported by this version");
  }
  reader.finish();
  return out;
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

ManifestCorpus read_corpus(const YamlNode::Member& member, Problems& problems) {
  ManifestCorpus out;
  out.name = member.key;
  out.place = member.key_place;
  if (!member.value.is_mapping() || member.value.members.size() != 1) {
    problems.add(member.value.place, fmt::format("corpora: {}: got {}, wanted `{{kind: "
                                                 "{{parameters}}}}`",
                                                 member.key, member.value.described()));
    return out;
  }
  const YamlNode::Member& inner = member.value.members.front();
  out.id = inner.key;
  out.place = inner.key_place;
  out.parameters = inner.value;
  if (!inner.value.is_mapping() && !inner.value.is_null()) {
    problems.add(inner.value.place,
                 fmt::format("corpora: {}: {}: got {}, wanted a mapping of parameters", member.key,
                             inner.key, inner.value.described()));
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

// The name becomes a folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos &&
         printable(name, name.size() + 1) == name;
}

void refuse_later_sections(MappingReader& reader, Problems& problems) {
  for (const std::string& section : kLaterSections) {
    if (const YamlNode* found = reader.get(section)) {
      problems.add(found->place,
                   fmt::format("manifest: section `{}` is not supported by this version", section));
    }
  }
}

void apply_sets(YamlNode& root, const std::vector<std::string>& sets) {
  for (const std::string& set : sets) {
    const size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0) {
      fail(QUENCH_INVALID_ARGUMENT, "--set: got `{}`, wanted a.b=value", printable(set));
    }
    const std::string path = set.substr(0, equals);
    yaml_set(root, path, set.substr(equals + 1), "--set " + printable(path));
  }
}

}  // namespace

Manifest load_manifest(const std::filesystem::path& file, const std::vector<std::string>& sets) {
  YamlNode root = load_yaml(file);
  apply_sets(root, sets);
  Manifest out;
  Problems& problems = out.problems;
  out.file = file;
  MappingReader reader(root, "manifest", problems);
  out.name = reader.text("name", file.stem().string());
  if (!is_plain_name(out.name)) {
    const YamlNode* name = root.find("name");
    problems.add(
        name != nullptr ? name->place : root.place,
        fmt::format("manifest: name = \"{}\", wanted a plain folder name", printable(out.name)));
  }
  out.seed = static_cast<uint64_t>(reader.integer("seed", 0, 0, (1LL << 62)));
  if (const YamlNode* dtype = reader.get("dtype")) {
    out.dtype = reader.text("dtype", "float32");
    out.dtype_place = dtype->place;
  }
  if (const YamlNode* device = reader.get("device")) {
    out.device = reader.text("device", "cpu");
    out.device_place = device->place;
  }
  if (const YamlNode* checkpoints = reader.require("checkpoints")) {
    out.checkpoints = read_checkpoints(*checkpoints, problems);
  }
  out.quantizers =
      read_items(reader.get("quantizers"), "quantizers", {"label", "calibration"}, problems);
  if (const YamlNode* metrics = reader.require("metrics")) {
    out.metrics = read_items(metrics, "metrics", {"label"}, problems);
    if (metrics->is_null() || (metrics->is_sequence() && metrics->items.empty())) {
      problems.add(metrics->place, "metrics: empty; wanted at least one");
    }
  }
  out.calibrations = read_named<ManifestCalibration>(reader.get("calibration"), "calibration",
                                                     read_calibration, problems);
  out.corpora = read_named<ManifestCorpus>(reader.get("corpora"), "corpora", read_corpus, problems);
  refuse_later_sections(reader, problems);
  reader.finish(kHomes);
  out.resolved = std::move(root);
  return out;
}

}  // namespace quench
