#include "run/manifest/resolve_training.hpp"

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "core/inputs/corpora/open_corpus.hpp"
#include "core/inputs/corpora/tokenizer.hpp"
#include "core/plugin/catalog/choose.hpp"
#include "core/plugin/handles/model_handle.hpp"
#include "run/manifest/averaging_windows.hpp"
#include "run/manifest/branches.hpp"
#include "train/state_keys.hpp"
#include "train/trained_states.hpp"
#include "train/update_rate.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kMaxCheckpoints = 100'000;  // of a branch

// Stands for the content of missing files: such a training is planned, never run.
const std::string kNotThere = "not there";

std::string revision_of(int64_t step) {
  return fmt::format("step{}", step);
}

}  // namespace

TrainingResolver::TrainingResolver(const Manifest& manifest, Catalog& catalog,
                                   PluginResolver& plugins, NamedData& data,
                                   CorpusFingerprints& fingerprints, Problems& problems)
    : manifest_(manifest),
      spec_(*manifest.training),
      catalog_(catalog),
      plugins_(plugins),
      data_(data),
      fingerprints_(fingerprints),
      problems_(problems) {}

bool TrainingResolver::read_config(std::string& config) {
  plugins_.attempt(spec_.model.place, [&] {
    config = config_text(spec_.model.value, fs::absolute(manifest_.file).parent_path());
  });
  return !config.empty();
}

bool TrainingResolver::resolve_corpus(const PlacedText& entry, TrainingCorpus& out) {
  const CorpusUse* use = entry.value.empty() ? nullptr : data_.corpus(entry.value, entry.place);
  if (use == nullptr) {
    return false;
  }
  out = {use->name, use->plugin, use->parameters, use->part, ""};
  if (plugins_.await_files(*use)) {
    out.fingerprint = kNotThere;
    return true;
  }
  plugins_.attempt(entry.place, [&] {
    std::string& known = fingerprints_[use->plugin->code.dump() + use->parameters.dump()];
    if (known.empty()) {
      known = open_corpus(catalog_, *use, plugins_.hub()).fingerprint();
    }
    out.fingerprint = known;
  });
  return !out.fingerprint.empty();
}

bool TrainingResolver::resolve_optimizer(const ManifestPlugin& written, TrainingOptimizer& out) {
  auto optimizer = plugins_.resolve("optimizer", written);
  if (!optimizer) {
    return false;
  }
  out = {optimizer->plugin, std::move(optimizer->parameters)};
  return true;
}

bool TrainingResolver::resolve_recipe(const std::string& tokenizer, quench_device device) {
  TrainingRecipe& recipe = training_->recipe;
  bool sound = read_config(recipe.config);
  const ManifestBranch& branch = manifest_.checkpoints.branches.front();
  if (sound) {
    plugins_.attempt(spec_.model.place, [&] {
      recipe.family = branch.family.value.empty()
                          ? &choose_family(catalog_, recipe.config, "train: model")
                          : &catalog_.require("model", branch.family.value);
    });
  }
  sound = resolve_corpus(spec_.corpus, recipe.corpus) && recipe.family != nullptr;
  sound = resolve_optimizer(spec_.optimizer, recipe.optimizer) && sound;
  if (!spec_.validation.corpus.value.empty()) {
    TrainingValidation validation;
    sound = resolve_corpus(spec_.validation.corpus, validation.corpus) && sound;
    validation.sequences = spec_.validation.sequences;
    validation.every = spec_.validation.every;
    training_->validation = std::move(validation);
  }
  recipe.tokenizer = tokenizer;
  plugins_.attempt(spec_.tokenizer.place, [&] {
    recipe.tokenizer_key = plugins_.is_absent(tokenizer)
                               ? kNotThere
                               : TokenizerChoice(tokenizer, "").identity(catalog_).key();
  });
  if (spec_.document_end) {
    recipe.document_end = static_cast<int32_t>(*spec_.document_end);
  }
  recipe.batch = spec_.batch;
  recipe.micro_batch = spec_.micro_batch;
  recipe.length = spec_.length;
  recipe.clip = spec_.clip;
  recipe.bfloat16 = spec_.bfloat16;
  recipe.seed = spec_.seed.value_or(manifest_.seed);
  recipe.peak = spec_.schedule.peak;
  recipe.device = device;
  return sound && !recipe.tokenizer_key.empty() && recipe.peak > 0;
}

void TrainingResolver::add_branch(const std::string& name, const LearningRateSchedule& schedule,
                                  int64_t begin, int64_t every, const std::vector<int64_t>& at,
                                  const Place& place) {
  TrainingBranch branch{name, schedule, begin, {}, {}};
  if (every < 1 || (branch.steps() - begin) / every > kMaxCheckpoints) {
    problems_.add(place, fmt::format("train: a checkpoint every {} of {} steps, more than {}",
                                     every, branch.steps() - begin, kMaxCheckpoints));
    every = branch.steps();
  }
  std::set<int64_t> steps(at.begin(), at.end());
  for (int64_t step = (begin / every + 1) * every; step < branch.steps(); step += every) {
    steps.insert(step);
  }
  steps.insert(branch.steps());
  branch.checkpoints.assign(steps.begin(), steps.end());
  training_->branches.push_back(std::move(branch));
}

CheckpointCell TrainingResolver::cell_at(size_t index, int64_t step) const {
  const TrainingBranch& branch = training_->branches[index];
  CheckpointCell cell;
  cell.model = "train";
  cell.revision = revision_of(step);
  cell.location =
      TrainedStates(catalog_.options().cache_dir).weights_path(keys_[index].at(step)).string();
  cell.branch = branch.name;
  cell.step = step;
  cell.tokens = step * static_cast<int64_t>(training_->recipe.tokens_per_step());
  cell.learning_rate = update_rate(branch.schedule, step);
  cell.phase = phase_of_update(branch.schedule, step);
  cell.family = training_->recipe.family->id;
  cell.tokenizer = training_->recipe.tokenizer;
  return cell;
}

Trajectory TrainingResolver::resolve(const std::string& tokenizer, quench_device device) {
  training_ = std::make_unique<Training>();
  if (tokenizer.empty() || !resolve_recipe(tokenizer, device)) {
    training_.reset();
    return {};
  }
  bool sound = true;
  add_branch(spec_.branch, spec_.schedule, 0, spec_.every, spec_.at, spec_.place);
  for (const ManifestFork& fork : spec_.forks) {
    add_branch(fork.name, fork.schedule, fork.begin, fork.every, {}, fork.place);
    TrainingBranch& branch = training_->branches.back();
    branch.order = fork.order;
    if (!fork.optimizer.id.empty()) {
      TrainingOptimizer own;
      sound = resolve_optimizer(fork.optimizer, own) && sound;
      // The run's own needs no other key.
      if (sound && optimizer_key(own) != optimizer_key(training_->recipe.optimizer)) {
        branch.optimizer = std::move(own);
      }
    }
  }
  if (!sound) {
    training_.reset();
    return {};
  }
  keys_ = state_keys(*training_);
  Trajectory out;
  for (size_t i = 0; i < training_->branches.size(); ++i) {
    const TrainingBranch& branch = training_->branches[i];
    Branch made;
    made.name = branch.name;
    made.parent = i == 0 ? "" : spec_.branch;
    made.mark = i == 0 ? spec_.mark : spec_.forks[i - 1].mark;
    const std::vector<int64_t>& trunk = training_->branches[0].checkpoints;
    const auto after = std::upper_bound(trunk.begin(), trunk.end(), branch.begin);
    if (i > 0 && after != trunk.begin()) {
      made.fork = static_cast<size_t>(after - trunk.begin() - 1);
    }
    out.branches.push_back(std::move(made));
    out.specs.push_back(&manifest_.checkpoints.branches.front());
    for (const int64_t step : branch.checkpoints) {
      out.checkpoints.push_back(cell_at(i, step));
    }
  }
  return out;
}

namespace {

// Steps of a branch whose weights can enter an average: checkpoints and snapshots.
std::vector<int64_t> snapshot_steps(const TrainingBranch& branch, int64_t every) {
  std::set<int64_t> steps(branch.checkpoints.begin(), branch.checkpoints.end());
  for (int64_t step = (branch.begin / every + 1) * every; step <= branch.steps(); step += every) {
    steps.insert(step);
  }
  return {steps.begin(), steps.end()};
}

}  // namespace

std::vector<WeightsCell> TrainingResolver::averages(const AveragingCell& averaging, size_t index,
                                                    const Trajectory& trajectory,
                                                    std::vector<std::string>& gaps) {
  AveragingHandle scheme(catalog_, *averaging.plugin, averaging.parameters);
  const auto tokens = static_cast<int64_t>(training_->recipe.tokens_per_step());
  std::vector<std::vector<int64_t>> steps;      // by branch: those of its members
  std::vector<std::vector<std::string>> names;  // likewise
  std::vector<size_t> first = {0};              // likewise: its first checkpoint
  std::vector<AveragedBranch> branches;
  for (const TrainingBranch& branch : training_->branches) {
    const std::vector<int64_t>& own = steps.emplace_back(snapshot_steps(branch, spec_.snapshots));
    std::vector<std::string>& called = names.emplace_back();
    std::transform(own.begin(), own.end(), std::back_inserter(called), revision_of);
    AveragedBranch& seen = branches.emplace_back(AveragedBranch{branch.name, {}, {}});
    for (size_t i = 0; i < own.size(); ++i) {
      seen.members.push_back(
          {sizeof(quench_averaging_member), called[i].c_str(), own[i], own[i] * tokens});
    }
    for (const int64_t step : branch.checkpoints) {
      seen.ends.push_back(
          static_cast<uint64_t>(std::lower_bound(own.begin(), own.end(), step) - own.begin()));
    }
    first.push_back(first.back() + branch.checkpoints.size());
  }
  std::vector<WeightsCell> out;
  gaps = select_averages(
      scheme, averaging.label, branches,
      [&](size_t b, size_t end, const std::vector<uint64_t>& members) {
        TrainingBranch& branch = training_->branches[b];
        WeightsCell cell{first[b] + end, index, {}};
        LiveAverage average{averaging.plugin, averaging.parameters, averaging.label, {}};
        for (const uint64_t member : members) {
          const int64_t step = steps[b][member];
          average.members.push_back(step);
          const auto at =
              std::lower_bound(branch.checkpoints.begin(), branch.checkpoints.end(), step);
          if (at != branch.checkpoints.end() && *at == step) {
            cell.members.push_back(first[b] + static_cast<size_t>(at - branch.checkpoints.begin()));
          }
          cell.live_members.push_back(revision_of(step));
        }
        if (cell.members.size() == average.members.size()) {
          cell.live_members.clear();
        } else {
          cell.members.clear();
          cell.live = trajectory.checkpoints[cell.checkpoint];
          cell.live->location = TrainedStates(catalog_.options().cache_dir)
                                    .weights_path(live_average_key(average, keys_[b]))
                                    .string();
          branch.averages.push_back(std::move(average));
        }
        out.push_back(std::move(cell));
      });
  return out;
}

std::shared_ptr<const Training> TrainingResolver::take() {
  return std::move(training_);
}

}  // namespace quench
