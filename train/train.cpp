#include "train/train.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <set>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/tensor_source.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/store/fingerprints.hpp"
#include "train/live_averages.hpp"
#include "train/packed_tokens.hpp"
#include "train/training_batches.hpp"
#include "train/training_model.hpp"
#include "train/training_segment.hpp"

namespace quench {

namespace {

PackedTokens packed(Catalog& catalog, const TrainingRecipe& recipe, const TrainingCorpus& corpus,
                    const std::filesystem::path& home) {
  return PackedTokens::open(
      catalog, {&corpus, recipe.tokenizer, recipe.tokenizer_key, recipe.document_end}, home);
}

// The corpora that a training reads.
class Data {
 public:
  Data(Catalog& catalog, const Training& training, const std::filesystem::path& home)
      : tokens_(packed(catalog, training.recipe, training.recipe.corpus, home)),
        batches_(tokens_, training.recipe.corpus.name, training.recipe.length) {
    if (!training.validation) {
      return;
    }
    const TrainingCorpus& corpus = training.validation->corpus;
    held_out_.emplace(packed(catalog, training.recipe, corpus, home));
    if (const uint64_t both = documents_in_both(tokens_, *held_out_)) {
      fail(QUENCH_INVALID_ARGUMENT,
           "train: {} documents of corpus {} are in corpus {} too, so the validation loss would "
           "cover training text; wanted parts of one corpus (`part`, `held_out`), or others",
           both, corpus.name, training.recipe.corpus.name);
    }
    validation_.emplace(*held_out_, corpus.name, training.recipe.length);
    if (validation_->sequences() < training.validation->sequences) {
      fail(QUENCH_INVALID_ARGUMENT, "train: validation: wanted {} sequences, corpus {} has {}",
           training.validation->sequences, corpus.name, validation_->sequences());
    }
  }
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;

  const TrainingBatches& batches() const { return batches_; }
  const TrainingBatches* validation() const { return validation_ ? &*validation_ : nullptr; }

 private:
  PackedTokens tokens_;
  TrainingBatches batches_;
  std::optional<PackedTokens> held_out_;
  std::optional<TrainingBatches> validation_;
};

// Whether the error ends the whole run rather than one branch.
bool is_final(const Error& error) {
  return error.code() == QUENCH_CANCELLED || error.code() == QUENCH_RESOURCE_EXHAUSTED;
}

// Reports damaged folders of a training and removes them, so that they are made again.
class Repair {
 public:
  explicit Repair(TrainedStates& states) : states_(states) {}

  // Runs before the survey: finds incomplete folders, and checkpoints and averages whose content
  // changed. Does not read again what was found intact while sizes and times stay the same.
  void before_survey(const Training& training, const TrainOptions& options) {
    const Fingerprints known(options.home, options.fresh);
    const std::vector<StateKeys> keys = state_keys(training);
    for (size_t i = 0; i < training.branches.size(); ++i) {
      const TrainingBranch& branch = training.branches[i];
      for (int64_t step = branch.begin + 1; step <= branch.steps(); ++step) {
        remove_damaged(states_.optimizer_path(keys[i].at(step)), Depth::kSizes);
        remove_damaged(states_.weights_path(keys[i].at(step)), Depth::kSizes);
      }
      for (const int64_t step : branch.checkpoints) {
        check_output(keys[i].at(step), known);
      }
      for (const LiveAverage& average : branch.averages) {
        const std::string key = live_average_key(average, keys[i]);
        check_output(key, known);
        if (states_.has_weights(key)) {
          states_.drop_sums(key);
        }
        for (size_t members = 1; members < average.members.size(); ++members) {
          remove_damaged(states_.sums_path(key, members), Depth::kSizes);
        }
      }
    }
  }

  // Handles a folder that a segment or a corpus could not use. Returns false if it was damaged
  // before: then making it again is of no use.
  bool folder(const std::filesystem::path& path, const Error& fault) {
    if (!seen_.insert(path).second) {
      return false;
    }
    tell(fault.what());
    states_.remove_damaged(path, Depth::kContents);
    return true;
  }

 private:
  void check_output(const std::string& key, const Fingerprints& known) {
    const std::filesystem::path path = states_.weights_path(key);
    const nlohmann::json question = {{"sealed", path.filename().string()}};
    const Fingerprints::Stamp before = known.look(question, {path});
    if (!before.complete() || known.find(question, {path})) {
      return;
    }
    if (remove_damaged(path, Depth::kContents)) {
      known.remember(before, "whole");
    }
  }

  // Returns whether nothing was damaged.
  bool remove_damaged(const std::filesystem::path& path, Depth depth) {
    const std::string fault = states_.remove_damaged(path, depth);
    if (!fault.empty()) {
      tell(fault);
    }
    return fault.empty();
  }

  static void tell(const std::string& fault) {
    HostServices::instance().log(QUENCH_LOG_WARNING, "", fault + "; making it again");
  }

  TrainedStates& states_;
  std::set<std::filesystem::path> seen_;
};

// Makes what is missing, segment by segment; after a repair, what is missing then.
class Trainer {
 public:
  Trainer(Catalog& catalog, const Training& training, const TrainOptions& options)
      : catalog_(catalog),
        training_(training),
        options_(options),
        states_(options.home),
        repair_(states_) {}

  TrainOutcome run() {
    repair_.before_survey(training_, options_);
    check_optimizers();
    while (const std::optional<TrainingSegment> segment = next()) {
      const std::string& branch = training_.branches[segment->branch].name;
      if (options_.on_branch) {
        options_.on_branch(branch);
      }
      try {
        make(*segment);
        done_.insert(segment->branch);
      } catch (const DamagedState& damage) {
        give_up_unless(repair_.folder(damage.folder(), damage), branch, damage);
        done_.clear();  // the removed state may belong to another branch
      } catch (const DamagedTokens& damage) {
        give_up_unless(repair_.folder(damage.folder(), damage), branch, damage);
        data_.reset();
      } catch (const Error& error) {
        give_up_unless(false, branch, error);
      }
    }
    return std::move(out_);
  }

 private:
  // Makes the optimizers of forks that are to be trained, before any step, and throws where one
  // cannot go on from the state of the run's.
  void check_optimizers() {
    const auto has_its_own = [](const TrainingBranch& branch) {
      return branch.optimizer.has_value();
    };
    if (std::none_of(training_.branches.begin(), training_.branches.end(), has_its_own)) {
      return;
    }
    std::optional<std::vector<TensorInfo>> given;
    for (const TrainingSegment& segment : survey_training(training_, states_)) {
      const TrainingBranch& branch = training_.branches[segment.branch];
      if (!branch.optimizer || branch.begin == 0) {
        continue;
      }
      if (!given) {
        given = TrainingModel(catalog_, training_.recipe).state_tensors();
      }
      const TrainingRecipe recipe = training_.recipe_of(branch);
      const std::vector<TensorInfo> wanted = TrainingModel(catalog_, recipe).state_tensors();
      const auto same = [](const TensorInfo& a, const TensorInfo& b) {
        return a.name == b.name && a.shape == b.shape && same_dtype(a.dtype, b.dtype);
      };
      const auto [one, other] =
          std::mismatch(given->begin(), given->end(), wanted.begin(), wanted.end(), same);
      if (one != given->end() || other != wanted.end()) {
        fail(
            QUENCH_INVALID_ARGUMENT,
            "train: fork {}: optimizer {} cannot go on from the state of {}: it keeps {}, that one "
            "{}",
            printable(branch.name), recipe.optimizer.plugin->id,
            training_.recipe.optimizer.plugin->id, described(other, wanted.end()),
            described(one, given->end()));
      }
    }
  }

  // "left_factor/w [96, 96] float64", or "no more".
  template <typename At>
  static std::string described(At tensor, At end) {
    return tensor == end ? "no more"
                         : fmt::format("{} {} {}", printable(tensor->name),
                                       dtype_name(tensor->dtype), shape_text(tensor->shape));
  }

  // The first segment of a branch that is neither complete nor failed.
  std::optional<TrainingSegment> next() const {
    for (TrainingSegment& segment : survey_training(training_, states_)) {
      const bool failed = out_.failures.contains(training_.branches[segment.branch].name);
      if (!done_.contains(segment.branch) && !failed) {
        return std::move(segment);
      }
    }
    return std::nullopt;
  }

  void make(const TrainingSegment& segment) {
    const TrainingBranch& branch = training_.branches[segment.branch];
    const bool forks = segment.branch > 0 && segment.from > 0 && segment.from == branch.begin;
    if (forks && out_.failures.contains(training_.branches[0].name) &&
        !states_.has_state(state_keys(training_)[segment.branch].at(segment.from))) {
      fail(QUENCH_FAILED_PRECONDITION,
           "branch {}: starts at step {}, which its parent did not reach", printable(branch.name),
           segment.from);
    }
    if (!data_) {
      data_ = std::make_unique<Data>(catalog_, training_, options_.home);
    }
    SegmentTrainer trainer(catalog_, training_, segment, states_, data_->batches(),
                           data_->validation(), options_.state_seconds);
    trainer.run();
    out_.parameters = trainer.parameters();
    out_.steps += segment.steps();
  }

  void give_up_unless(bool repaired, const std::string& branch, const Error& error) {
    if (is_final(error) || HostServices::instance().cancel_flag()) {
      throw Error(error);
    }
    if (!repaired) {
      out_.failures.emplace(branch, error);
    }
  }

  Catalog& catalog_;
  const Training& training_;
  const TrainOptions& options_;
  TrainedStates states_;
  Repair repair_;
  std::unique_ptr<Data> data_;
  std::set<size_t> done_;  // branches
  TrainOutcome out_;
};

}  // namespace

TrainOutcome train(Catalog& catalog, const Training& training, const TrainOptions& options) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  TrainOutcome out = Trainer(catalog, training, options).run();
  out.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return out;
}

}  // namespace quench
