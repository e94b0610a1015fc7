// Turns the section `train` into a trajectory whose checkpoints may not exist yet.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "run/manifest/branches.hpp"
#include "run/manifest/manifest.hpp"
#include "run/manifest/resolve_data.hpp"
#include "run/manifest/resolve_plugin.hpp"
#include "train/recipe.hpp"
#include "train/training_survey.hpp"

namespace quench {

// Fingerprints of corpora, read once for all points of a sweep.
using CorpusFingerprints = std::map<std::string, std::string>;

class TrainingResolver {
 public:
  // All arguments outlive the resolver. `seed`: of the manifest.
  TrainingResolver(const Manifest& manifest, Catalog& catalog, PluginResolver& plugins,
                   NamedData& data, CorpusFingerprints& fingerprints, Problems& problems);

  // Branches and checkpoints, at the paths where the training will put them; empty after adding
  // problems if something is wrong.
  Trajectory resolve(const std::string& tokenizer, quench_device device);
  // The averages of a scheme, at each checkpoint that has one. An average whose members are all
  // checkpoints is an ordinary one; any other is made during training. `gaps` is that of
  // averaged_weights.
  std::vector<WeightsCell> averages(const AveragingCell& averaging, size_t index,
                                    const Trajectory& trajectory, std::vector<std::string>& gaps);

  // Call it last; nullptr if something was wrong.
  std::shared_ptr<const Training> take();

 private:
  bool resolve_recipe(const std::string& tokenizer, quench_device device);
  bool read_config(std::string& config);
  bool resolve_corpus(const PlacedText& entry, TrainingCorpus& out);
  bool resolve_optimizer(const ManifestPlugin& written, TrainingOptimizer& out);
  void add_branch(const std::string& name, const LearningRateSchedule& schedule, int64_t begin,
                  int64_t every, const std::vector<int64_t>& at, const Place& place);
  CheckpointCell cell_at(size_t branch, int64_t step) const;

  const Manifest& manifest_;
  const ManifestTraining& spec_;
  Catalog& catalog_;
  PluginResolver& plugins_;
  NamedData& data_;
  CorpusFingerprints& fingerprints_;
  Problems& problems_;
  std::unique_ptr<Training> training_;
  std::vector<StateKeys> keys_;
};

}  // namespace quench
