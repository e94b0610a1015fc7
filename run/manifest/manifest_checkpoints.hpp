// The section `checkpoints` as written: a tree of branches, each with its revisions, its place in
// the tree and its learning rate if known.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/arithmetic/learning_rate.hpp"
#include "core/base/config/problems.hpp"
#include "core/base/config/written.hpp"

namespace quench {

using PlacedText = Written<std::string>;

// One plugin: an id, or `{id: {parameters}}`.
struct ManifestPlugin {
  std::string id;  // empty: none
  Place place;
  YamlNode parameters;  // a mapping, or null
};

// A range of whole numbers, both ends included.
struct ManifestRange {
  std::string name;  // name of the capture (`match`) or the phase (`phases`)
  Place place;
  int64_t first = 0;
  int64_t last = std::numeric_limits<int64_t>::max();
};

struct ManifestLearningRate {
  enum class Kind { kUnknown, kConstant, kPoints, kSchedule };
  Kind kind = Kind::kUnknown;
  Place place;
  double constant = 0;
  std::string points;  // CSV file, relative to the manifest
  LearningRateSchedule schedule;
};

// The first position of a branch.
struct ManifestOffset {
  int64_t step = 0;
  int64_t tokens = 0;
};

struct ManifestBranch {
  std::string name;  // "" without `branches`; may contain captures of its pattern ("ing{i}")
  Place place;
  PlacedText model;  // folder, relative to the manifest, or hf://org/name
  // A pattern with captures ("step{step}") and no names: all revisions that match. Names in
  // `revisions`: these revisions, and the pattern, if any, reads their captures. Neither: the model
  // itself is the only checkpoint.
  std::string pattern;
  std::vector<PlacedText> revisions;
  Place revisions_place;
  PlacedText parent;  // name of a branch, or empty
  std::optional<ManifestOffset> offset;
  int64_t tokens_per_step = 0;       // 0: not given
  uint64_t thin = 1;                 // keep every n-th, and always the first and the last
  std::vector<ManifestRange> match;  // captures that must lie in a range
  ManifestLearningRate learning_rate;
  std::vector<ManifestRange> phases;  // by step; empty: derived from the schedule, if any
  std::string mark;
  PlacedText tokenizer;  // of this branch alone, as in ManifestCheckpoints; empty: the one for all
  PlacedText config;  // path of a config.json, or a mapping as JSON text; empty: the checkpoint's
  PlacedText family;  // model plugin, or empty: the one that knows the config
};

struct ManifestCheckpoints {
  Place place;
  std::vector<ManifestBranch> branches;  // a single one named "" without `branches`
  // Folder, file, hf://org/name, "bytes", or ID:FILE; empty: each checkpoint's own.
  PlacedText tokenizer;
  // Whether the section `train` makes its checkpoints.
  bool is_trained() const { return branches.size() == 1 && branches[0].model.value == "train"; }
};

// How figures can draw a checkpoint (`mark`).
const std::vector<std::string>& branch_marks();

// The key `tokenizer` of a section; {ID: FILE} is read as ID:FILE.
void read_tokenizer(MappingReader& reader, PlacedText& out);
nlohmann::json tokenizer_schema();

// Adds errors to `problems`.
ManifestCheckpoints read_checkpoints(const YamlNode& node, Problems& problems);
nlohmann::json checkpoints_schema();

}  // namespace quench
