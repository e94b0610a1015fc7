// A manifest as written: its structure is checked, its plugins are not looked up yet. The meaning
// of plugin ids and their parameters is resolved where the catalog is known.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/config/problems.hpp"
#include "core/base/config/written.hpp"
#include "core/base/config/yaml.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "run/manifest/cluster_keys.hpp"
#include "run/manifest/manifest_checkpoints.hpp"
#include "run/manifest/manifest_train.hpp"
#include "run/manifest/study_job.hpp"
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
struct ManifestItem : ManifestPlugin {
  std::string label;
  // For quantizers.
  Written<std::string> calibration;  // name in `calibration:`, or empty
  std::optional<ManifestReplicates> replicates;
  Written<std::string> export_as;  // name of a file format, or empty
  ManifestPlugin transform;
  // For averagings.
  std::vector<PlacedText> of;  // an explicit set of checkpoints; empty: windows of each branch
  bool raw = true;             // unaveraged checkpoints stay in the grid
  bool keep = false;           // write the averaged weights beside the results
  // For metrics.
  MetricScope scope;
};

struct ManifestCalibration {
  std::string name;
  Place place;
  Written<std::string> corpus;
  uint64_t documents = 0;  // 0: not given
  uint64_t sequences = 0;
  uint64_t length = 0;
  std::string packing;  // "concat" or "none"
  std::string pads = "masked";
  uint64_t pad_batch = 16;  // attending padding: documents that are padded together; 0: none
  int64_t pad_id = -1;
};

struct ManifestCorpus : ManifestPlugin {
  std::string name;
  // A part of its documents: a share is held out, the rest is for training.
  std::string part;     // "training", "held_out", or empty: all
  double held_out = 0;  // the share that is held out
};

// A condition without which the manifest would not mean what its author meant.
struct ManifestRequirement {
  std::string name;  // of a plugin: id, or kind/id; empty: quench itself
  Place place;
  Written<std::string> version;  // in VersionRange's form, or empty
  Written<std::string> sha256;   // of the plugin's file, or empty
};

// What a run that fetches may keep of the hub's weights.
struct ManifestStorage {
  Place place;
  Written<uint64_t> limit;  // bytes that the run's downloads may take in the cache; 0: no limit
  bool evict = false;       // weights that no cell needs any more are removed
};

struct Manifest {
  std::filesystem::path file;
  std::string name;
  uint64_t seed = 0;
  Written<std::string> dtype{"float32", {}};
  Written<std::string> device{"cpu", {}};
  std::vector<ManifestRequirement> requirements;
  std::vector<PlacedText> in_process;  // plugins that run in the program's process all the same
  ManifestCheckpoints checkpoints;
  std::optional<ManifestTraining> training;  // set together with `checkpoints: {model: train}`
  std::vector<ManifestItem> averagings;
  std::vector<ManifestItem> quantizers;
  std::vector<ManifestItem> metrics;
  std::vector<ManifestCalibration> calibrations;
  std::vector<ManifestCorpus> corpora;
  std::optional<ManifestStorage> storage;
  nlohmann::json cluster = usual_cluster();
  YamlNode report;  // as written, or null; the report checks its content
  Sweep sweep;
  YamlNode resolved;  // the document after --set, which is stored beside the results
  // The document before --set; where the file is one of the study's, the manifest that it amounts
  // to.
  std::string text;
  std::vector<StudyJob> study_jobs;  // the file's, if it is one of the study's
  // Errors so far; resolving adds those that need the plugins, and throws all at once.
  Problems problems;
};

// Reads a manifest, or one of the study's files as the manifest that it amounts to, and applies the
// changes of --set (`sets`) before any check. Errors in its structure go to `problems`; for a
// manifest with a sweep only the errors in the sweep, because each point is its own manifest.
// Throws Error if the file cannot be read, is not YAML, or a --set does not fit, and what
// `read_study` throws, which reads files of the study; without it they are read as manifests.
Manifest load_manifest(const std::filesystem::path& file, const std::vector<std::string>& sets,
                       const ReadStudy& read_study = {});

// The manifest of one point of the sweep: `manifest` with the point's values and without the
// sweep.
Manifest manifest_at(const Manifest& manifest, size_t point);

}  // namespace quench
