// What is to be run, with every name looked up and every parameter complete: the grid of
// checkpoints × averaging × quantizers × metrics. Both `quench run` and `quench eval` come down to
// these; a manifest with a `sweep` is one of them per point.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/checkpoint/dtype.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/handles/corpus_handle.hpp"
#include "quench/abi/tensor.h"

inline bool operator==(const quench_dtype& a, const quench_dtype& b) {
  return quench::same_dtype(a, b);
}

namespace quench {

struct Training;  // train/recipe.hpp: nothing here looks inside

// A corpus, by plugin and complete parameters.
struct CorpusUse {
  std::string name;  // in the manifest, or the file of an anonymous one
  const PluginDescription* plugin = nullptr;
  nlohmann::json parameters;
  CorpusPart part = {};
  std::string where = {};  // "file:line:column" in a manifest, else empty; for messages
  bool operator==(const CorpusUse&) const = default;
};

enum class Packing { kNone, kConcat };

struct Calibration {
  std::string name;
  CorpusUse corpus;
  uint64_t documents = 0;  // 0: all
  uint64_t sequences = 0;  // with kConcat
  uint64_t length = 0;  // ids per sequence with kConcat; the longest row with kNone, 0: the model's
  Packing packing = Packing::kNone;
  // Documents, this many at a time and in their order, are padded with `pad_id` to the longest of
  // them, and the pads count in what quantizers observe; 0: no padding.
  uint64_t pad_batch = 0;
  int32_t pad_id = 0;
  std::string where = {};  // "file:line:column" in a manifest, else empty; for messages
  bool operator==(const Calibration&) const = default;
};

// Repetitions of one quantizer on one set of weights. Draw r is calibrated on the r-th disjoint
// slice of its corpus (draw 0 is what a single run uses); jitter j >= 1 permutes the rows of draw 0
// and shows the chaos of rounding. In all draws + jitter quantizations.
struct Replicates {
  uint32_t draws = 1;
  uint32_t jitter = 0;
  // Checkpoints (indices) where they are made; elsewhere there is draw 0 alone. Empty: everywhere.
  std::vector<size_t> at;
  bool operator==(const Replicates&) const = default;
};

// What is applied to the float model before a quantizer.
struct PluginUse {
  const PluginDescription* plugin = nullptr;
  nlohmann::json parameters;
  bool operator==(const PluginUse&) const = default;
};

struct QuantizerCell {
  const PluginDescription* plugin = nullptr;
  nlohmann::json parameters;
  std::string label;
  std::optional<Calibration> calibration;
  std::string where;  // "file:line:column" in a manifest, else empty; for messages
  Replicates replicates;
  // The format in which the quantized weights are also written: then they are measured as they are
  // stored. Null where none is asked for, or where it cannot hold them, for `export_refused`.
  const PluginDescription* store_as = nullptr;
  std::string export_refused = {};
  std::optional<PluginUse> transform = std::nullopt;
  bool operator==(const QuantizerCell&) const = default;
};

// What an entry of `metrics` says beside the plugin's id.
struct MetricScope {
  // Whether it measures the float weights, and the quantized ones.
  bool of_float = true;
  bool of_quantized = true;
  // Whether what it scores may be scored during quantization passes: the values are the same.
  bool fused = false;
  bool operator==(const MetricScope&) const = default;
};

struct MetricCell {
  const PluginDescription* plugin = nullptr;
  nlohmann::json parameters;
  std::string label;
  std::vector<std::pair<std::string, CorpusUse>> corpora;  // parameter name, corpus
  std::string where;                                       // as in QuantizerCell
  uint32_t needs = 0;                                      // QUENCH_METRIC_NEEDS_*
  // What the model is opened in for this metric alone; none: as the experiment says.
  std::optional<quench_dtype> dtype = std::nullopt;
  MetricScope scope = {};
  bool operator==(const MetricCell&) const = default;
};

// A branch of the trajectory's tree. Order, averaging windows and drawn lines never cross it.
struct Branch {
  std::string name;    // "" for the only branch of a manifest without `branches`
  std::string parent;  // name, or empty: a root
  std::string mark;    // how figures draw its checkpoints ("star"), or empty
  // The checkpoint (index) of the parent at or before the place where this branch begins.
  std::optional<size_t> fork;
  // Of the schedule that the manifest states, from step 0 to the last checkpoint: points (step,
  // learning rate) that lines join. Else empty.
  std::vector<std::pair<int64_t, double>> schedule;
};

// Where a checkpoint lies on this machine.
struct LocatedCheckpoint {
  std::filesystem::path path;  // folder or file
  std::string commit;          // of a hub checkpoint, else empty
  bool operator==(const LocatedCheckpoint&) const = default;
};

struct CheckpointCell {
  std::string model;     // as the user wrote it: folder or hf://org/name
  std::string revision;  // empty where there is none
  std::string location;  // folder, file, or hf://org/name@revision: what is opened
  std::string branch;    // name of a Branch
  // With the branch's offset added; empty where nothing tells them: then the order of the list.
  std::optional<int64_t> step;
  std::optional<int64_t> tokens;
  std::optional<double> learning_rate;  // at this step, from the branch's `lr`
  std::string phase;                    // of the schedule ("warmup", "constant", "decay"), or empty
  std::string config;                   // text of a config.json for files without one, or empty
  std::string family;                   // model plugin; empty: the one that knows the config
  std::string tokenizer;                // path or "bytes", of this branch; empty: the experiment's
  // Of a hub checkpoint that the cache had when the experiment was made: its revision's commit at
  // that time is what is read, also if the revision moves on. Empty: it is looked up when needed.
  std::optional<LocatedCheckpoint> located = std::nullopt;
  bool operator==(const CheckpointCell&) const = default;
};

struct AveragingCell {
  const PluginDescription* plugin = nullptr;
  nlohmann::json parameters;
  std::string label;
  std::string where;  // as in QuantizerCell
  bool keep = false;  // its averages are written beside the results
};

// One set of weights to be quantized and measured: a checkpoint, or an average of some.
struct WeightsCell {
  size_t checkpoint = 0;            // whose place on the axes it has: an average's last member
  std::optional<size_t> averaging;  // index; empty: the checkpoint itself
  std::vector<size_t> members;      // checkpoints, ascending within a branch; empty without
  // An average that was made while its members passed by in training: where it lies, and what
  // entered. It has no members then.
  std::optional<CheckpointCell> live = std::nullopt;
  std::vector<std::string> live_members = {};
};

struct Experiment {
  std::string name;
  uint64_t seed = 0;
  quench_dtype dtype{};
  quench_device device{};
  std::string tokenizer;                     // path, "bytes", or empty: the checkpoint's own
  std::shared_ptr<const Training> training;  // that makes the checkpoints, or nullptr
  std::vector<Branch> branches;
  std::vector<CheckpointCell> checkpoints;  // branch by branch, each in its order
  std::vector<AveragingCell> averagings;
  std::vector<WeightsCell> weights;  // the rows of the grid, in the order in which they run
  bool is_share = false;             // others run further rows: what only they need may be missing
  std::vector<QuantizerCell> quantizers;
  std::vector<MetricCell> metrics;
  // hf:// specs of tokenizers and corpora that are not in the cache, with the reason; they stand in
  // `tokenizer` and in paths of corpora as they are. Also paths of a training's corpora that are
  // not there.
  std::map<std::string, std::string> absent;
  // In a sweep: which point this is, and what it sets ({"dotted.path": value}); else 0 and null.
  size_t job = 0;
  nlohmann::json point;
};

// Whose files these weights are: the checkpoint's, an average's last member's, or a live average's.
const CheckpointCell& files_cell(const Experiment& experiment, const WeightsCell& weights);
// The checkpoints that a set of weights is read from: one, or the members of an average.
using MemberCells = std::vector<const CheckpointCell*>;
MemberCells files_of(const Experiment& experiment, const WeightsCell& weights);
// The checkpoints (indices) of the branch of checkpoint `last`, up to it, in their order.
std::vector<size_t> branch_until(const Experiment& experiment, size_t last);
// Why the corpus cannot be read, where its files are in `absent`; else empty.
std::string absence_of(const Experiment& experiment, const CorpusUse& use);

// "float32" (or fp32, ...) and "cpu", "cuda:0". Throw Error(INVALID_ARGUMENT).
quench_dtype parse_dtype(const std::string& text);
quench_device parse_device(const std::string& text);
// All that parse_dtype takes.
const std::vector<std::string>& dtype_names();
std::string dtype_text(quench_dtype dtype);
std::string device_text(quench_device device);

// {model, revision, commit, branch, parent, mark, step, tokens, lr, phase}; null where not known.
nlohmann::json describe_checkpoint(const Experiment& experiment, const CheckpointCell& cell,
                                   const std::string& commit);

// {id, params, label, version, sha256, members}; null for a checkpoint as it is.
nlohmann::json describe_averaging(const Experiment& experiment, const WeightsCell& weights);

}  // namespace quench
