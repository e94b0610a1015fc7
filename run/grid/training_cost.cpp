#include "run/grid/training_cost.hpp"

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/plugin/services/heard_warnings.hpp"
#include "core/plugin/services/host_services.hpp"
#include "quench/abi/extension/gradients.h"
#include "run/manifest/described_model.hpp"
#include "train/training_flops.hpp"

namespace quench {

namespace {

// Of float32 numbers, with two moments: weights, gradient, and in host memory the model's own
// weights.
constexpr uint64_t kCopies = 5;
constexpr uint64_t kCopiesOnDevice = 4;
constexpr double kPerForward = 2;       // floating-point operations that Rates counts per token
constexpr double kPasses = 3;           // a forward, and a backward that costs two
constexpr double kStepSeconds = 0.005;  // besides its operations, of a training never measured

std::string worker(const Training& training) {
  return "train " + training.recipe.family->id;
}

// The model in its shapes, or drawn if its family cannot give those alone; in host memory.
ModelHandle open_described(Catalog& catalog, const TrainingRecipe& recipe) {
  const HeardWarnings heard(HeardWarnings::Fate::kRefused);  // as where the model is drawn
  try {
    ModelHandle model =
        describe_config(catalog, recipe.config, "train.model", recipe.family->id, kFloat32);
    heard.check();
    return model;
  } catch (const Error&) {
    return ModelHandle::open(catalog, *recipe.family,
                             {sizeof(quench_model_open_args),
                              QUENCH_OPEN_INITIALIZE,
                              nullptr,
                              recipe.config.data(),
                              recipe.config.size(),
                              {QUENCH_DEVICE_CPU, 0},
                              kFloat32});
  }
}

ModelHandle described(Catalog& catalog, const TrainingRecipe& recipe) {
  ModelHandle model = open_described(catalog, recipe);
  if (model.extension(QUENCH_MODEL_GRADIENT) == nullptr) {
    fail(QUENCH_UNSUPPORTED, "{}: has no {} and cannot be trained", model.label(),
         QUENCH_MODEL_GRADIENT);
  }
  return model;
}

}  // namespace

TrainingCost training_cost(Catalog& catalog, const Training& training,
                           const std::filesystem::path& home, const Rates& rates,
                           uint32_t threads) {
  TrainingCost out;
  const std::vector<TrainingSegment> segments = survey_training(training, TrainedStates(home));
  if (segments.empty()) {
    return out;
  }
  const ModelHandle model = described(catalog, training.recipe);
  out.parameters = parameter_count(model);
  const bool on_device = training.recipe.device.type != QUENCH_DEVICE_CPU;
  out.memory = (on_device ? kCopiesOnDevice : kCopies) * out.parameters * sizeof(float);
  const double per_token =
      training_flops_per_token(model, static_cast<uint64_t>(training.recipe.length));
  const double known = rates.rate_of(worker(training));
  out.basis = known > 0 ? Basis::kScaled : Basis::kNominal;
  for (const TrainingSegment& segment : segments) {
    SegmentCost cost{training.branches[segment.branch].name, segment.from, segment.to, 0, 0, 0};
    cost.tokens = static_cast<uint64_t>(segment.steps()) * training.recipe.tokens_per_step();
    const auto tokens = static_cast<double>(cost.tokens);
    cost.flops = per_token * tokens;
    cost.seconds =
        known > 0 ? kPerForward * kPasses * static_cast<double>(out.parameters) * tokens / known
                  : cost.flops / (kNominalRate * threads) +
                        kStepSeconds * static_cast<double>(segment.steps());
    out.tokens += cost.tokens;
    out.flops += cost.flops;
    out.seconds += cost.seconds;
    out.segments.push_back(std::move(cost));
  }
  return out;
}

bool knows_training(const Rates& rates, const Training& training) {
  return rates.rate_of(worker(training)) > 0;
}

void learn_training_rate(const std::filesystem::path& home, const Training& training,
                         const TrainOutcome& outcome) {
  try {
    Rates rates(home);
    const uint64_t tokens =
        static_cast<uint64_t>(outcome.steps) * training.recipe.tokens_per_step();
    rates.observe({{"train", training.recipe.config}, {"length", training.recipe.length}},
                  worker(training), outcome.parameters, tokens * static_cast<uint64_t>(kPasses),
                  outcome.seconds);
    rates.save();
  } catch (const Error& error) {
    HostServices::instance().log(QUENCH_LOG_WARNING, "", error.what());
  }
}

}  // namespace quench
