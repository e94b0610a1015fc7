// Training with weights, gradient and state in the memory of a device that is none
// (tests/support/pretended_device): what the host touches of it ends the process.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "core/plugin/catalog/parameters.hpp"
#include "core/plugin/services/host_services.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/pretended_device/memory.h"
#include "tests/support/pretended_device/scene.hpp"
#include "tests/support/temporary.hpp"
#include "train/training_model.hpp"

namespace fs = std::filesystem;

namespace quench::test {

namespace {

constexpr uint64_t kLength = 11;
constexpr uint64_t kSequences = 2;  // of a micro-batch; a step has two
constexpr double kPeak = 0.02;
// Σ g² in another order, in float64.
constexpr double kNorm = 1e-13;

TrainingRecipe recipe_of(Catalog& catalog, const std::string& family, const std::string& optimizer,
                         nlohmann::json parameters) {
  TrainingRecipe out;
  out.family = &catalog.require("model", family);
  out.config = kTinyConfig;
  out.optimizer.plugin = &catalog.require("optimizer", optimizer);
  std::vector<ParameterProblem> problems;
  out.optimizer.parameters = complete_parameters(*out.optimizer.plugin, parameters, problems);
  REQUIRE(problems.empty());
  out.batch = 2 * kSequences;
  out.micro_batch = kSequences;
  out.length = kLength;
  out.seed = 3;
  out.peak = kPeak;
  out.device = {family == "pretended" ? QUENCH_DEVICE_CUDA : QUENCH_DEVICE_CPU, 0};
  return out;
}

IdBatch batch_of(int64_t number) {
  IdBatch out;
  out.sequences = kSequences;
  uint64_t state = static_cast<uint64_t>(number) * 2 + 1;
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int32_t>((state >> 33) % 37);
  };
  for (uint64_t i = 0; i < kSequences * kLength; ++i) {
    out.inputs.push_back(next());
    out.targets.push_back(next());
  }
  return out;
}

struct Made {
  double loss;
  double norm;
};

Made make_step(TrainingModel& model, int64_t step) {
  const double weight = 1.0 / static_cast<double>(2 * kSequences * kLength);
  Made out{};
  out.loss = model.gradient(step, [&] {
    return (model.accumulate(batch_of(2 * step), weight) +
            model.accumulate(batch_of(2 * step + 1), weight)) *
           weight;
  });
  out.norm = model.step(step, kPeak / static_cast<double>(step));
  return out;
}

std::vector<float> evaluated(TrainingModel& model) {
  const std::span<const float> values = model.evaluated();
  return {values.begin(), values.end()};
}

void save(TrainingModel& model, TrainedStates& states, const std::string& key) {
  model.save_optimizer(states, key);
  states.save_weights(key, {kTinyConfig, "", nlohmann::json::object()}, model.parameters(),
                      model.evaluated());
}

// A home with a state before the first step, of weights that gpt_neox drew.
class Start {
 public:
  Start(const std::string& optimizer, const nlohmann::json& parameters)
      : home_(), states_(home_.path()) {
    TrainingModel model(built_catalog(),
                        recipe_of(built_catalog(), "gpt_neox", optimizer, parameters));
    save(model, states_, "drawn");
  }
  TrainedStates& states() { return states_; }

 private:
  TemporaryDir home_;
  TrainedStates states_;
};

std::string state_bytes(TrainingModel& model) {
  const TemporaryDir home;
  TrainedStates states(home.path());
  save(model, states, "state");
  return read_file(states.optimizer_path("state") / "state.safetensors");
}

// What is said while it lives.
class Said {
 public:
  Said() {
    HostServices::instance().set_log_sink(
        [this](int, std::string_view, std::string_view line) { lines_.emplace_back(line); });
  }
  ~Said() { HostServices::instance().set_log_sink(nullptr); }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

struct Case {
  std::string optimizer;
  nlohmann::json parameters;
};

Case on_device_case() {
  return GENERATE(values<Case>({{"adamw", {{"weight_decay", 0.1}}},
                                {"sgd", {{"momentum", 0.9}, {"nesterov", true}}},
                                {"schedule_free_adamw", {{"weight_decay", 0.1}}},
                                {"sam", {{"rho", 0.05}}},
                                {"trace_penalty", {{"strength", 1e-3}}},
                                {"noise_injection", {{"sigma", 0.05}}},
                                {"qat", {{"bits", 4}, {"group_size", 3}}}}));
}

}  // namespace

TEST_CASE("device training: it has the bits of training in host memory", "[train][cuda]") {
  const auto [optimizer, parameters] = on_device_case();
  CAPTURE(optimizer);
  const TrainingRecipe there = recipe_of(pretended_catalog(), "pretended", optimizer, parameters);
  const TrainingRecipe here = recipe_of(built_catalog(), "gpt_neox", optimizer, parameters);
  {
    Start start(optimizer, parameters);
    TrainingModel device(pretended_catalog(), there, start.states(), "drawn");
    TrainingModel host(built_catalog(), here, start.states(), "drawn");
    CHECK(device.is_on_device());
    CHECK_FALSE(host.is_on_device());
    for (int64_t step = 1; step <= 5; ++step) {
      const Made got = make_step(device, step);
      const Made wanted = make_step(host, step);
      CAPTURE(step);
      CHECK(got.loss == wanted.loss);
      CHECK(std::fabs(got.norm - wanted.norm) <= kNorm * wanted.norm);
      CHECK(differences(evaluated(device), evaluated(host)) == "");
      CHECK(device.evaluate(batch_of(100)) == host.evaluate(batch_of(100)));
    }
    CHECK(state_bytes(device) == state_bytes(host));
    // Weights and gradient, and state of at least the momentum.
    CHECK(pretended_bytes() >= 3 * sizeof(float) * device.size());
    // The model keeps no others, unless it computes with other weights than are stepped.
    CHECK(device.shares_weights() == (optimizer == "adamw" || optimizer == "sgd"));
    CHECK_FALSE(host.shares_weights());
  }
  CHECK(pretended_bytes() == 0);
}

TEST_CASE("device training: clipped it stays within the rounding of one factor", "[train][cuda]") {
  const auto [optimizer, parameters] = on_device_case();
  CAPTURE(optimizer);
  TrainingRecipe there = recipe_of(pretended_catalog(), "pretended", optimizer, parameters);
  TrainingRecipe here = recipe_of(built_catalog(), "gpt_neox", optimizer, parameters);
  there.clip = here.clip = 0.1;
  Start start(optimizer, parameters);
  TrainingModel device(pretended_catalog(), there, start.states(), "drawn");
  TrainingModel host(built_catalog(), here, start.states(), "drawn");
  for (int64_t step = 1; step <= 5; ++step) {
    make_step(device, step);
    CHECK(make_step(host, step).norm > here.clip);
  }
  // The factor on the gradient differs by a unit of float32 at most, in few steps if in any.
  const std::vector<float> got = evaluated(device);
  const std::vector<float> wanted = evaluated(host);
  double furthest = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    furthest = std::max(furthest, std::fabs(static_cast<double>(got[i]) - wanted[i]));
  }
  CHECK(furthest <= 1e-4 * kPeak);
}

TEST_CASE("device training: from a checkpoint it goes on with the same bits, on device and host",
          "[train][cuda]") {
  const auto [optimizer, parameters] = on_device_case();
  CAPTURE(optimizer);
  const TrainingRecipe there = recipe_of(pretended_catalog(), "pretended", optimizer, parameters);
  const TrainingRecipe here = recipe_of(built_catalog(), "gpt_neox", optimizer, parameters);
  const TemporaryDir home;
  TrainedStates states(home.path());
  std::vector<float> undisturbed;
  std::string state;
  {
    TrainingModel model(pretended_catalog(), there);
    for (int64_t step = 1; step <= 6; ++step) {
      make_step(model, step);
      if (step == 3) {
        save(model, states, "third");
      }
    }
    undisturbed = evaluated(model);
    state = state_bytes(model);
  }
  const auto goes_on = [&](TrainingModel& model) {
    for (int64_t step = 4; step <= 6; ++step) {
      make_step(model, step);
    }
    CHECK(differences(evaluated(model), undisturbed) == "");
    CHECK(state_bytes(model) == state);
  };
  TrainingModel device(pretended_catalog(), there, states, "third");
  goes_on(device);
  TrainingModel host(built_catalog(), here, states, "third");
  goes_on(host);
}

TEST_CASE(
    "device training: without kernels steps are made in host memory, which is said, with "
    "the same bits",
    "[train][cuda]") {
  const std::string optimizer = GENERATE("adamw", "sam");
  CAPTURE(optimizer);
  const TemporaryDir folder;
  for (const std::string& file :
       {std::string("models/pretended.so"), "optimizers/" + optimizer + ".so"}) {
    fs::create_directories((folder / file).parent_path());
    fs::copy(fs::path(PRETENDED_PLUGINS) / file, folder / file);
  }
  Catalog catalog(options_of(folder.path()));
  const nlohmann::json defaults = nlohmann::json::object();
  const TrainingRecipe there = recipe_of(catalog, "pretended", optimizer, defaults);
  const TrainingRecipe here = recipe_of(built_catalog(), "gpt_neox", optimizer, defaults);
  Start start(optimizer, defaults);
  const Said said;
  TrainingModel device(catalog, there, start.states(), "drawn");
  TrainingModel host(built_catalog(), here, start.states(), "drawn");
  CHECK_FALSE(device.is_on_device());
  CHECK(pretended_bytes() == 0);
  for (int64_t step = 1; step <= 3; ++step) {
    CHECK(make_step(device, step).loss == make_step(host, step).loss);
  }
  CHECK(differences(evaluated(device), evaluated(host)) == "");
  REQUIRE(said.lines().size() == 1);
  CHECK_THAT(said.lines()[0],
             Catch::StartsWith("steps are made in host memory: optimizer " + optimizer + ": ") &&
                 Catch::Contains("this build has no kernels for GPUs"));
}

}  // namespace quench::test
