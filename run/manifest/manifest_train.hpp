// The section `train` as written: what to train, on what, how, and which checkpoints the grid
// includes.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/plugin/catalog/catalog.hpp"
#include "run/manifest/manifest_checkpoints.hpp"

namespace quench {

// A decay that starts from the constant part of the run; it becomes its own branch.
struct ManifestFork {
  std::string name;
  Place place;
  LearningRateSchedule schedule;  // from step 0, including the shared part
  int64_t begin = 0;              // the last step that it shares
  int64_t every = 0;              // steps between its checkpoints
  std::optional<uint64_t> order;  // seed of the order of its data; else the training's
  ManifestPlugin optimizer;       // of its own steps; else the training's
  std::string mark;
};

// The loss on held-out text during the training.
struct ManifestValidation {
  PlacedText corpus;  // empty: not asked
  uint64_t sequences = 64;
  int64_t every = 0;
};

struct ManifestTraining {
  Place place;
  PlacedText model;  // path of a config.json, or a mapping as JSON text
  PlacedText corpus;
  PlacedText tokenizer;                 // path, hf://org/name, or "bytes"
  std::optional<int64_t> document_end;  // id appended to every document
  ManifestValidation validation;
  ManifestPlugin optimizer;
  LearningRateSchedule schedule;
  bool has_length = true;    // false: its steps are wrong, which is told, and they are 1
  uint64_t batch = 1;        // sequences per step
  uint64_t micro_batch = 0;  // sequences per forward
  uint64_t length = 2;       // ids per sequence
  int64_t every = 0;         // steps between checkpoints; the last step always has one
  std::vector<int64_t> at;   // additional checkpoints
  int64_t snapshots = 0;     // steps between unwritten weights that averages include; 0: none
  double clip = 1;           // largest global norm of the gradient; 0: no clipping
  bool bfloat16 = false;     // matrix products in bfloat16
  std::optional<uint64_t> seed;
  std::string branch;  // name of the branch of the whole run
  std::string mark;
  std::vector<ManifestFork> forks;
};

// Adds errors to `problems`.
ManifestTraining read_training(const YamlNode& node, Problems& problems);
nlohmann::json train_schema(const Catalog& catalog);

}  // namespace quench
