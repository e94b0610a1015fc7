// What a training depends on, and the branches that it makes.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/arithmetic/learning_rate.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/handles/corpus_handle.hpp"

namespace quench {

struct TrainingCorpus {
  std::string name;
  const PluginDescription* plugin = nullptr;
  nlohmann::json parameters;
  CorpusPart part;
  std::string fingerprint;  // SHA-256 of its files
};

struct TrainingValidation {
  TrainingCorpus corpus;
  uint64_t sequences = 0;
  int64_t every = 0;  // steps between validations; 0: at checkpoints only
};

struct TrainingOptimizer {
  const PluginDescription* plugin = nullptr;
  nlohmann::json parameters;
};

// Everything that the weights after a step depend on, except the learning rates.
struct TrainingRecipe {
  const PluginDescription* family = nullptr;
  std::string config;  // text of config.json
  TrainingCorpus corpus;
  std::string tokenizer;      // path or "bytes"
  std::string tokenizer_key;  // TokenizerIdentity::key
  std::optional<int32_t> document_end;
  TrainingOptimizer optimizer;
  uint64_t batch = 1;        // sequences per step
  uint64_t micro_batch = 1;  // sequences per forward; divides the batch
  uint64_t length = 2;       // ids per sequence
  double clip = 0;           // largest global norm of the gradient; 0: no clipping
  bool bfloat16 = false;     // matrix products in bfloat16
  uint64_t seed = 0;
  double peak = 0;  // peak learning rate
  quench_device device{};

  uint64_t tokens_per_step() const { return batch * length; }
};

// SHA-256 of all that is in a recipe, by content: plugins by their code and the libraries that
// compute, the host by its arithmetic, the machine by its kind.
std::string recipe_key(const TrainingRecipe& recipe);

// The same of an optimizer alone.
std::string optimizer_key(const TrainingOptimizer& optimizer);

// An average over some steps of one branch, computed during training.
struct LiveAverage {
  const PluginDescription* plugin = nullptr;
  nlohmann::json parameters;
  std::string label;
  std::vector<int64_t> members;  // steps, ascending; the average is attached to the last one
};

struct TrainingBranch {
  std::string name;
  LearningRateSchedule schedule;     // from step 0, including the part shared with other branches
  int64_t begin = 0;                 // the last step that it shares with the first branch
  std::vector<int64_t> checkpoints;  // steps whose weights are kept, ascending, above `begin`
  std::vector<LiveAverage> averages;
  // Of the data after `begin`: the seed of their order, in place of the recipe's.
  std::optional<uint64_t> order{};
  // Of the steps after `begin`, in place of the recipe's; it goes on from the state of that one.
  std::optional<TrainingOptimizer> optimizer{};
  int64_t steps() const { return *schedule.steps; }
};

struct Training {
  TrainingRecipe recipe;
  std::optional<TrainingValidation> validation;
  std::vector<TrainingBranch> branches;  // the first one has no parent; the others fork from it

  // The recipe of the steps after a branch's `begin`.
  TrainingRecipe recipe_of(const TrainingBranch& branch) const;
};

}  // namespace quench
