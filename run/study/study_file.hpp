// A configuration file of the study (arXiv 2510.06213): a flat mapping in which every list is an
// axis, as the study's code reads it. Job i is the i-th point of the product of all lists in the
// order of the keys, the last one fastest; a list in a list is a value that is a list.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/config/yaml.hpp"

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
};

class StudyFile {
 public:
  struct Axis {
    std::string key;
    Place place;
    bool list = false;             // in the file
    std::vector<YamlNode> values;  // one, if it is no list
  };

  // Reads `root`, for which is_study_file is true. Throws Error(INVALID_ARGUMENT) with all that is
  // wrong: an unknown key, a value that no manifest can express.
  explicit StudyFile(const YamlNode& root);

  size_t jobs() const { return jobs_; }
  // The value of each key, as the study's code gets them, in the order of the file. `job` < jobs().
  std::vector<std::pair<std::string, const YamlNode*>> settings(size_t job) const;
  // Those whose keys have several values in the file.
  nlohmann::json point(size_t job) const;
  StudyJob job(size_t job) const;

  bool is_landscape() const { return landscape_; }
  // nullptr: the file does not have the key.
  const Axis* find(const std::string& key) const;
  // The only value of a key, or `otherwise`.
  std::string text(const std::string& key, const std::string& otherwise) const;
  const std::vector<Axis>& axes() const { return axes_; }

 private:
  std::vector<Axis> axes_;
  size_t jobs_ = 1;
  bool landscape_ = false;
};

// Whether the document is one of the study's files and not a manifest.
bool is_study_file(const YamlNode& root);

// The model and the revision in a manifest of a path in a landscape file.
StudyCheckpoint study_path(const std::string& path);

}  // namespace quench
