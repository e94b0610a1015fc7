#include "run/manifest/manifest.hpp"

#include <algorithm>

#include "core/config/yaml_path.hpp"
#include "core/error.hpp"
#include "run/manifest/manifest_data.hpp"
#include "run/manifest/manifest_items.hpp"
#include "run/manifest/requirements.hpp"

namespace quench {

namespace {

constexpr long long kMaxSeed = 1LL << 62;

// Sections of the full manifest that this version does not run. They are refused by name, because a
// section that is silently not acted on is worse than none.
const std::vector<std::string> kLaterSections = {"storage", "cluster"};

// Keys that people put at the top, and where they belong.
const std::vector<std::pair<std::string, std::string>> kHomes = {
    {"model", "under `checkpoints`"},
    {"tokenizer", "under `checkpoints`"},
    {"revisions", "under `checkpoints`"},
    {"branches", "under `checkpoints`"},
    {"lr", "under `checkpoints`"},
    {"phases", "under `checkpoints`"},
    {"contrasts", "under `report`"},
    {"figures", "under `report`"},
    {"replicates", "beside the id of a quantizer"},
    {"export", "beside the id of a quantizer"},
    {"corpus", "under a name in `calibration`, or in a metric's parameters"},
    {"optimizer", "under `train`"},
    {"forks", "under `train`"},
    {"steps", "under `train`"},
    {"documents", "under a name in `calibration`"},
    {"sequences", "under a name in `calibration`"},
    {"length", "under a name in `calibration`"},
    {"packing", "under a name in `calibration`"}};

// The name becomes a folder.
bool is_plain_name(const std::string& name) {
  constexpr size_t kMaxName = 200;  // bytes; file systems take 255
  return !name.empty() && name.size() <= kMaxName && name[0] != '.' &&
         name.find('/') == std::string::npos && printable(name, name.size() + 1) == name;
}

void read_name(MappingReader& reader, const YamlNode& root, Manifest& out) {
  out.name = reader.text("name", out.file.stem().string());
  if (!is_plain_name(out.name)) {
    const YamlNode* name = root.find("name");
    out.problems.add(
        name != nullptr ? name->place : root.place,
        fmt::format("manifest: name = \"{}\", wanted a plain folder name", printable(out.name)));
  }
}

void read_metrics(MappingReader& reader, Manifest& out) {
  const YamlNode* metrics = reader.require("metrics");
  if (metrics == nullptr) {
    return;
  }
  out.metrics = read_items(metrics, ItemKind::kMetric, out.problems);
  if (metrics->is_null() || (metrics->is_sequence() && metrics->items.empty())) {
    out.problems.add(metrics->place, "metrics: empty; wanted at least one");
  }
}

// The section `train` and `model: train` go together.
void read_train(MappingReader& reader, const YamlNode& root, Manifest& out) {
  const YamlNode* train = reader.get("train");
  if (train != nullptr) {
    out.training = read_training(*train, out.problems);
  }
  const bool wanted = out.checkpoints.is_trained();
  if (wanted && train == nullptr) {
    out.problems.add(out.checkpoints.place,
                     "checkpoints: `model: train` without a section `train`, which says what");
  } else if (!wanted && train != nullptr && root.find("checkpoints") != nullptr) {
    out.problems.add(train->place,
                     "manifest: section `train`, but `checkpoints` does not say `model: train`");
  }
}

void refuse_later_sections(MappingReader& reader, Problems& problems) {
  for (const std::string& section : kLaterSections) {
    if (const YamlNode* found = reader.get(section)) {
      problems.add(found->place,
                   fmt::format("manifest: section `{}` is not supported by this version", section));
    }
  }
}

// One manifest without a sweep.
void read_document(const YamlNode& root, Manifest& out) {
  Problems& problems = out.problems;
  MappingReader reader(root, "manifest", problems);
  read_name(reader, root, out);
  out.seed = static_cast<uint64_t>(reader.integer("seed", 0, 0, kMaxSeed));
  if (const YamlNode* dtype = reader.get("dtype")) {
    out.dtype = reader.text("dtype", "float32");
    out.dtype_place = dtype->place;
  }
  if (const YamlNode* device = reader.get("device")) {
    out.device = reader.text("device", "cpu");
    out.device_place = device->place;
  }
  out.requirements = read_requirements(reader.get("requires"), problems);
  if (const YamlNode* checkpoints = reader.require("checkpoints")) {
    out.checkpoints = read_checkpoints(*checkpoints, problems);
  }
  read_train(reader, root, out);
  out.averagings = read_items(reader.get("averaging"), ItemKind::kAveraging, problems);
  out.quantizers = read_items(reader.get("quantizers"), ItemKind::kQuantizer, problems);
  read_metrics(reader, out);
  out.calibrations = read_calibrations(reader.get("calibration"), problems);
  out.corpora = read_corpora(reader.get("corpora"), problems);
  if (const YamlNode* report = reader.get("report")) {
    out.report = *report;
  }
  reader.get("sweep");
  refuse_later_sections(reader, problems);
  reader.finish(kHomes);
}

void erase_member(YamlNode& mapping, const std::string& key) {
  const auto called = [&](const YamlNode::Member& member) { return member.key == key; };
  mapping.members.erase(std::remove_if(mapping.members.begin(), mapping.members.end(), called),
                        mapping.members.end());
}

}  // namespace

Manifest load_manifest(const std::filesystem::path& file, const std::vector<std::string>& sets) {
  YamlNode root = load_yaml(file);
  for (size_t i = 0; i < sets.size(); ++i) {
    yaml_change(root, sets[i], fmt::format("--set #{}", i + 1));
  }
  Manifest out;
  out.file = file;
  const YamlNode* sweep = root.find("sweep");
  if (sweep != nullptr && !sweep->is_null()) {
    out.sweep = read_sweep(*sweep, out.problems);
  }
  if (out.sweep.empty()) {
    read_document(root, out);
  } else {  // what is missing may come from the points
    Problems sound = out.problems;
    read_document(root, out);
    out.problems = std::move(sound);
  }
  out.resolved = std::move(root);
  return out;
}

Manifest manifest_at(const Manifest& manifest, size_t point) {
  Manifest out;
  out.file = manifest.file;
  out.resolved = manifest.resolved;
  erase_member(out.resolved, "sweep");
  for (Sweep::Setting& setting : manifest.sweep.point(point)) {
    try {
      yaml_at(out.resolved, setting.path, setting.place, false) = std::move(setting.value);
    } catch (const Error& error) {
      out.problems.add(setting.place, fmt::format("sweep: {}", error.what()));
    }
  }
  read_document(out.resolved, out);
  return out;
}

}  // namespace quench
