// A manifest as written: its structure checked, its plugins not yet looked up. What plugin ids mean
// and which parameters they take is decided in core/run, where the catalog is known.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/config/problems.hpp"
#include "core/config/yaml.hpp"

namespace quench {

// One entry `- id: {parameters}` with the host's keys beside the id.
struct ManifestItem {
  std::string id;
  Place place;
  YamlNode parameters;  // a mapping, or null
  std::string label;
  std::string calibration;  // name in `calibration:`, or empty
  Place calibration_place;
};

struct ManifestCheckpoints {
  Place place;
  std::string model;  // folder, relative to the manifest, or hf://org/name
  Place model_place;
  // Either a pattern with captures ("step{step}"), or the names in `revisions`; neither: the model
  // itself is the only checkpoint.
  std::string pattern;
  std::vector<std::pair<std::string, Place>> revisions;
  Place revisions_place;
  std::string tokenizer;  // folder or file; empty: the checkpoint's own
  Place tokenizer_place;
};

struct ManifestCalibration {
  std::string name;
  Place place;
  std::string corpus;
  Place corpus_place;
  uint64_t documents = 0;  // 0: not given
  uint64_t sequences = 0;
  uint64_t length = 0;
  std::string packing;  // "concat" or "none"
};

struct ManifestCorpus {
  std::string name;
  Place place;
  std::string id;  // of the corpus plugin
  YamlNode parameters;
};

struct Manifest {
  std::filesystem::path file;
  std::string name;
  uint64_t seed = 0;
  std::string dtype = "float32";
  Place dtype_place;
  std::string device = "cpu";
  Place device_place;
  ManifestCheckpoints checkpoints;
  std::vector<ManifestItem> quantizers;
  std::vector<ManifestItem> metrics;
  std::vector<ManifestCalibration> calibrations;
  std::vector<ManifestCorpus> corpora;
  YamlNode resolved;  // the document after --set, as it is stored beside the results
  // What is wrong so far; resolving adds what only the plugins know, and throws it all at once.
  Problems problems;
};

// Reads a manifest; `sets` are the `a.b=c` of --set, applied before anything is checked. What is
// wrong with its structure is left in `problems`. Throws Error when the file cannot be read, is no
// YAML, or a --set does not fit.
Manifest load_manifest(const std::filesystem::path& file, const std::vector<std::string>& sets);

}  // namespace quench
