#include "core/train/train.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "core/plugin/host_services.hpp"
#include "core/train/live_averages.hpp"
#include "core/train/packed_tokens.hpp"
#include "core/train/training_batches.hpp"
#include "core/train/training_leg.hpp"
#include "core/train/training_model.hpp"

namespace quench {

namespace {

PackedTokens packed(Catalog& catalog, const TrainingRecipe& recipe, const TrainingCorpus& corpus,
                    const std::filesystem::path& home) {
  return PackedTokens::open(
      catalog, {&corpus, recipe.tokenizer, recipe.tokenizer_key, recipe.document_end}, home);
}

// The texts that a training reads.
class Data {
 public:
  Data(Catalog& catalog, const Training& training, const std::filesystem::path& home)
      : tokens_(packed(catalog, training.recipe, training.recipe.corpus, home)),
        batches_(tokens_, training.recipe.corpus.name, training.recipe.length,
                 training.recipe.seed) {
    if (!training.validation) {
      return;
    }
    const TrainingCorpus& corpus = training.validation->corpus;
    held_out_.emplace(packed(catalog, training.recipe, corpus, home));
    if (const uint64_t both = documents_in_both(tokens_, *held_out_)) {
      fail(QUENCH_INVALID_ARGUMENT,
           "train: {} documents of corpus {} are in corpus {} too, so the validation loss would be "
           "of text that was trained on; wanted parts of one corpus (`part`, `held_out`), or "
           "others",
           both, corpus.name, training.recipe.corpus.name);
    }
    validation_.emplace(*held_out_, corpus.name, training.recipe.length, 0);
    if (validation_->sequences() < training.validation->sequences) {
      fail(QUENCH_INVALID_ARGUMENT, "train: validation: {} sequences asked, corpus {} has {}",
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

// What ends the whole run, and not a branch alone.
bool is_final(const Error& error) {
  return error.code() == QUENCH_CANCELLED || error.code() == QUENCH_RESOURCE_EXHAUSTED;
}

}  // namespace

TrainOutcome train(Catalog& catalog, const Training& training, const TrainOptions& options) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  TrainOutcome out;
  TrainedStates states(options.home);
  const std::vector<TrainingLeg> legs = survey_training(training, states);
  std::unique_ptr<Data> data;
  for (const TrainingLeg& leg : legs) {
    const TrainingBranch& branch = training.branches[leg.branch];
    if (options.on_branch) {
      options.on_branch(branch.name);
    }
    try {
      if (!data) {
        data = std::make_unique<Data>(catalog, training, options.home);
      }
      LegTrainer trainer(catalog, training, leg, states, data->batches(), data->validation(),
                         options.state_seconds);
      trainer.run();
      out.parameters = trainer.parameters();
      out.steps += leg.steps();
    } catch (const Error& error) {
      if (is_final(error) || HostServices::instance().cancel_flag()) {
        throw;
      }
      out.failures.emplace(branch.name, error);
    }
  }
  out.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return out;
}

}  // namespace quench
