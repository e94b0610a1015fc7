// The loop against PyTorch's: fifty steps of torch.optim.AdamW on the same model and data, with
// gradients at the weights, at SAM's neighbour and at rounded weights, and the loss that
// transformers gives a checkpoint written here. Goldens: tests/data/training, with the scripts that
// made them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/arithmetic/learning_rate.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"
#include "train/state_keys.hpp"
#include "train/training_model.hpp"

namespace fs = std::filesystem;
using namespace quench;
using quench::test::built_catalog;

namespace {

// float32 sums in another order, through fifty updates.
constexpr double kFiftySteps = 1e-4;
// From step 23 on, one weight that lies between two codes is rounded to the other one.
constexpr int64_t kSameCodes = 20;
// One forward in float32 against one in float32.
constexpr double kOneForward = 1e-5;

fs::path golden(const std::string& name) {
  return fs::path(QUENCH_SOURCE_DIR) / "tests/data/training" / name;
}

nlohmann::json golden_json(const std::string& name) {
  return nlohmann::json::parse(test::read_file(golden(name)));
}

// Batch `step` of the ids [steps, sequences, length + 1].
IdBatch batch_of(const TensorSource& ids, int64_t step) {
  const auto& shape = ids.info(0).shape;
  const auto row = static_cast<uint64_t>(shape[2]);
  const auto sequences = static_cast<uint64_t>(shape[1]);
  std::vector<int32_t> all(sequences * row);
  ids.read(0, static_cast<uint64_t>(step) * all.size(), all.size(), all.data());
  IdBatch out;
  out.sequences = sequences;
  for (uint64_t s = 0; s < sequences; ++s) {
    const auto begin = all.begin() + static_cast<ptrdiff_t>(s * row);
    out.inputs.insert(out.inputs.end(), begin, begin + static_cast<ptrdiff_t>(row) - 1);
    out.targets.insert(out.targets.end(), begin + 1, begin + static_cast<ptrdiff_t>(row));
  }
  return out;
}

TrainingRecipe recipe_of(const fs::path& model, const nlohmann::json& settings,
                         const std::string& optimizer = "adamw") {
  TrainingRecipe out;
  out.family = built_catalog().find("model", "gpt_neox");
  out.config = test::read_file(model / "config.json");
  out.optimizer.plugin = built_catalog().find("optimizer", optimizer);
  std::vector<ParameterProblem> problems;
  nlohmann::json given = {{"betas", settings.at("betas")},
                          {"epsilon", settings.at("epsilon")},
                          {"weight_decay", settings.at("weight_decay")}};
  for (const char* own : {"rho", "bits", "group_size", "sym"}) {
    if (settings.contains(own)) {
      given[own] = settings.at(own);
    }
  }
  out.optimizer.parameters = complete_parameters(*out.optimizer.plugin, given, problems);
  REQUIRE(problems.empty());
  out.batch = 8;
  out.micro_batch = 8;
  out.length = 32;
  out.clip = settings.at("clip");
  out.peak = settings.at("peak");
  out.device = {QUENCH_DEVICE_CPU, 0};
  return out;
}

// The weights of `model`, as a state from which nothing has been stepped.
TrainingModel opened(const TrainingRecipe& recipe, const fs::path& model, const fs::path& home) {
  TrainedStates states(home);
  TrainingModel(built_catalog(), recipe).save_optimizer(states, "initial");
  fs::copy(model, states.weights_path("initial"), fs::copy_options::recursive);
  return TrainingModel(built_catalog(), recipe, states, "initial");
}

}  // namespace

TEST_CASE("training: fifty steps have the losses of PyTorch's AdamW, SAM and rounding", "[train]") {
  const auto [id, compared] =
      GENERATE(table<std::string, int64_t>({{"adamw", 50}, {"sam", 50}, {"qat", kSameCodes}}));
  CAPTURE(id);
  const test::TemporaryDir home;
  const nlohmann::json settings = golden_json(id + ".json");
  const TrainingRecipe recipe = recipe_of(golden("initial"), settings, id);
  TrainingModel model = opened(recipe, golden("initial"), home.path());
  LearningRateSchedule schedule;
  schedule.shape = LearningRateSchedule::Shape::kWsd;
  schedule.peak = settings.at("peak");
  schedule.warmup = settings.at("warmup");
  schedule.decay_steps = settings.at("decay_steps");
  schedule.steps = static_cast<int64_t>(settings.at("losses").size());
  const SafetensorsSource ids(golden("ids.safetensors"));
  for (int64_t step = 1; step <= compared; ++step) {
    const IdBatch batch = batch_of(ids, step - 1);
    const auto positions = static_cast<double>(batch.targets.size());
    const double loss =
        model.gradient(step, [&] { return model.accumulate(batch, 1 / positions) / positions; });
    model.step(step, rate_of_update(schedule, step));
    const double expected = settings.at("losses")[static_cast<size_t>(step - 1)];
    CAPTURE(step);
    CHECK(loss == Approx(expected).margin(kFiftySteps).epsilon(0));
  }
  if (compared < *schedule.steps) {
    return;
  }
  const IdBatch batch = batch_of(ids, 0);
  const double final_loss = model.evaluate(batch) / static_cast<double>(batch.targets.size());
  CHECK(final_loss == Approx(settings.at("final_loss").get<double>()).margin(kFiftySteps));
}

TEST_CASE("training: a checkpoint has here the loss that transformers gives it", "[train]") {
  const test::TemporaryDir home;
  const TrainingRecipe recipe = recipe_of(golden("trained"), golden_json("adamw.json"));
  TrainingModel model = opened(recipe, golden("trained"), home.path());
  const IdBatch batch = batch_of(SafetensorsSource(golden("ids.safetensors")), 0);
  const double loss = model.evaluate(batch) / static_cast<double>(batch.targets.size());
  CHECK(loss == Approx(golden_json("trained/loss.json").at("loss").get<double>())
                    .margin(kOneForward)
                    .epsilon(0));
}
