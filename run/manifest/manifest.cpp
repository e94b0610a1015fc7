#include "run/manifest/manifest.hpp"

#include <algorithm>

#include "core/base/config/yaml_path.hpp"
#include "core/base/io/file.hpp"
#include "core/base/io/look.hpp"
#include "core/error.hpp"
#include "run/manifest/document_keys.hpp"

namespace quench {

namespace {

// Reads one manifest without a sweep.
void read_document(const YamlNode& root, Manifest& out) {
  MappingReader reader(root, kDocumentName, out.problems);
  document_keys().read_keys(reader, out);
  reader.finish(sections_of_keys());
}

void erase_member(YamlNode& mapping, const std::string& key) {
  const auto called = [&](const YamlNode::Member& member) { return member.key == key; };
  mapping.members.erase(std::remove_if(mapping.members.begin(), mapping.members.end(), called),
                        mapping.members.end());
}

}  // namespace

Manifest load_manifest(const std::filesystem::path& file, const std::vector<std::string>& sets,
                       const ReadStudy& read_study) {
  Manifest out;
  out.file = file;
  if (is_folder_at(file)) {
    fail(QUENCH_INVALID_ARGUMENT,
         "{}: is a folder, wanted a manifest; `quench init FOLDER` writes one for its checkpoints",
         printable(file.string(), 400));
  }
  out.text = read_file(file, kYamlMaxBytes);
  YamlNode root = parse_yaml(out.text, file.string());
  if (read_study && is_study_file(root)) {
    StudyManifest study = read_study(file);
    out.text = std::move(study.text);
    out.study_jobs = std::move(study.jobs);
    root = parse_yaml(out.text, file.string() + " as a manifest");
  }
  if (root.find("model_type") != nullptr && root.find("metrics") == nullptr) {
    fail(QUENCH_INVALID_ARGUMENT,
         "{}: this is a model's config, wanted a manifest; `quench init FOLDER` writes one",
         printable(file.string(), 400));
  }
  for (size_t i = 0; i < sets.size(); ++i) {
    yaml_change(root, sets[i], fmt::format("--set #{}", i + 1));
  }
  const YamlNode* sweep = root.find("sweep");
  if (sweep != nullptr && !sweep->is_null()) {
    out.sweep = read_sweep(*sweep, out.problems);
  }
  if (out.sweep.empty()) {
    read_document(root, out);
  } else {  // the points may add what is missing
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
