// Configuration files of the study (arXiv 2510.06213) in place of a manifest, and one job of such a
// file, out of the experiment that the whole file is. What the files mean knows
// python/quench/study.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/config/yaml.hpp"
#include "core/inputs/experiment/experiment.hpp"

namespace quench {

// A checkpoint by what a manifest calls it.
struct StudyCheckpoint {
  std::string model;
  std::string revision;
  bool operator==(const StudyCheckpoint&) const = default;
};

// What one job measures.
struct StudyJob {
  // The checkpoints whose weights are measured; those that are averaged, where `average` is set.
  std::vector<StudyCheckpoint> checkpoints;
  std::string average;       // label of the average, or empty
  nlohmann::json quantizer;  // parameters that its quantizer has, or null: it has none
  nlohmann::json point;      // the values of the keys that have several in the file
};

// The manifest that a file amounts to, and its jobs in their order.
struct StudyManifest {
  std::string text;
  std::vector<StudyJob> jobs;
};

// Reads a file of the study.
using ReadStudy = std::function<StudyManifest(const std::filesystem::path&)>;

// Whether the document is one of the study's files and not a manifest.
bool is_study_file(const YamlNode& root);

// From what `python -m quench.study FILE --jobs` prints. Throws what nlohmann::json throws.
StudyManifest study_manifest(const nlohmann::json& read);

// Leaves the cells of this job: its weights, its quantizer, and the checkpoints that they need.
// Keys and names of cells stay as they are.
void keep_study_job(Experiment& experiment, const StudyJob& job);

}  // namespace quench
