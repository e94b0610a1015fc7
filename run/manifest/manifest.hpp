// A manifest as written: its structure checked, its plugins not yet looked up. What plugin ids mean
// and which parameters they take is decided in core/run, where the catalog is known.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/config/problems.hpp"
#include "core/config/yaml.hpp"
#include "core/experiment/experiment.hpp"
#include "run/manifest/manifest_checkpoints.hpp"
#include "run/manifest/manifest_train.hpp"
#include "run/manifest/sweep.hpp"

namespace quench {

// Repetitions of a quantizer's cell.
struct ManifestReplicates {
  Place place;
  uint32_t draws = 1;
  uint32_t jitter = 0;
  std::vector<PlacedText> at;  // first, last, forks, or branch@revision; empty: everywhere
};

// One entry `- id: {parameters}` with the host's keys beside the id.
struct ManifestItem {
  std::string id;
  Place place;
  YamlNode parameters;  // a mapping, or null
  std::string label;
  // Of a quantizer.
  std::string calibration;  // name in `calibration:`, or empty
  Place calibration_place;
  std::optional<ManifestReplicates> replicates;
  std::string export_as;  // name of a file format, or empty
  Place export_place;
  std::string transform;  // id, or empty
  Place transform_place;
  YamlNode transform_parameters;  // a mapping, or null
  // Of an averaging.
  std::vector<PlacedText> of;  // an explicit set of checkpoints; empty: windows of each branch
  bool raw = true;             // the unaveraged checkpoints stay in the grid
  bool keep = false;           // write the averaged weights beside the results
  // Of a metric.
  MetricScope scope;
};

struct ManifestCalibration {
  std::string name;
  Place place;
  std::string corpus;
  Place corpus_place;
  uint64_t documents = 0;  // 0: not given
  uint64_t sequences = 0;
  uint64_t length = 0;
  std::string packing;     // "concat" or "none"
  uint64_t pad_batch = 0;  // with pads that count: documents that are padded alike
  int64_t pad_id = 0;
};

struct ManifestCorpus {
  std::string name;
  Place place;
  std::string id;  // of the corpus plugin
  YamlNode parameters;
  // A part of its documents: a share of them is held out, the rest is for training.
  std::string part;     // "training", "held_out", or empty: all
  double held_out = 0;  // the share
};

// What must be there for the manifest to mean what its author meant.
struct ManifestRequirement {
  std::string plugin;  // id, or kind/id; empty: quench itself
  Place place;
  std::string version;  // as VersionRange reads it, or empty
  Place version_place;
  std::string sha256;  // of the plugin's file, or empty
  Place sha256_place;
};

struct Manifest {
  std::filesystem::path file;
  std::string name;
  uint64_t seed = 0;
  std::string dtype = "float32";
  Place dtype_place;
  std::string device = "cpu";
  Place device_place;
  std::vector<ManifestRequirement> requirements;
  ManifestCheckpoints checkpoints;
  std::optional<ManifestTraining> training;  // with `checkpoints: {model: train}`
  std::vector<ManifestItem> averagings;
  std::vector<ManifestItem> quantizers;
  std::vector<ManifestItem> metrics;
  std::vector<ManifestCalibration> calibrations;
  std::vector<ManifestCorpus> corpora;
  YamlNode report;  // as written, or null: what it may hold is the report's to say
  Sweep sweep;
  YamlNode resolved;  // the document after --set, as it is stored beside the results
  // What is wrong so far; resolving adds what only the plugins know, and throws it all at once.
  Problems problems;
};

// Reads a manifest; `sets` are the changes of --set, applied before anything is checked. What is
// wrong with its structure is left in `problems`; of a manifest with a sweep only what is wrong
// with the sweep, because each point is a manifest of its own. Throws Error when the file cannot be
// read, is no YAML, or a --set does not fit.
Manifest load_manifest(const std::filesystem::path& file, const std::vector<std::string>& sets);

// The manifest that a point of the sweep makes of `manifest`: its values put into the document, the
// sweep taken out.
Manifest manifest_at(const Manifest& manifest, size_t point);

}  // namespace quench
