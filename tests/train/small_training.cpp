#include "tests/train/small_training.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "core/plugin/catalog/parameters.hpp"
#include "core/plugin/handles/corpus_handle.hpp"
#include "core/plugin/services/host_services.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/temporary.hpp"
#include "train/training_log.hpp"

namespace quench::test {

namespace fs = std::filesystem;

namespace {

constexpr const char* kConfig = R"({"model_type": "gpt_neox", "hidden_size": 16,
  "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 256,
  "max_position_embeddings": 16, "hidden_act": "gelu", "layer_norm_eps": 1e-5, "rotary_pct": 0.25,
  "rotary_emb_base": 10000, "use_parallel_residual": true, "attention_bias": true,
  "tie_word_embeddings": false, "initializer_range": 0.02})";

nlohmann::json complete(const PluginDescription& plugin, const nlohmann::json& given) {
  std::vector<ParameterProblem> problems;
  nlohmann::json out = complete_parameters(plugin, given, problems);
  if (!problems.empty()) {
    throw std::runtime_error(problems[0].message);
  }
  return out;
}

TrainingCorpus corpus_of(const fs::path& file, PartKind part) {
  TrainingCorpus out;
  out.name = part == PartKind::kTraining ? "text" : "held_out";
  out.plugin = built_catalog().find("corpus", "text");
  out.parameters = complete(*out.plugin, {{"path", file.string()}, {"split", "line"}});
  out.part = {part, 0.2};
  out.fingerprint = CorpusHandle(built_catalog(), *out.plugin, out.parameters).fingerprint();
  return out;
}

LearningRateSchedule schedule(int64_t steps, int64_t decay_steps) {
  LearningRateSchedule out;
  out.shape =
      decay_steps > 0 ? LearningRateSchedule::Shape::kWsd : LearningRateSchedule::Shape::kConstant;
  out.peak = 0.01;
  out.warmup = 2;
  out.steps = steps;
  out.decay_steps = decay_steps;
  return out;
}

LiveAverage average(const std::string& id, const nlohmann::json& parameters,
                    std::vector<int64_t> members) {
  const PluginDescription* plugin = built_catalog().find("averaging", id);
  return {plugin, complete(*plugin, parameters), id, std::move(members)};
}

std::vector<LiveAverage> averages_of_run(const std::string& which) {
  if (which == "none") {
    return {};
  }
  if (which == "template") {
    return {average("template_averaging", {{"window", 3}}, {8, 10, 12})};
  }
  return {average("lawa", {{"window", 3}, {"every", 2}}, {2, 4, 6}),
          average("lawa", {{"window", 5}, {"every", 2}}, {4, 6, 8, 10, 12}),
          average("ema", {{"decay", 0.5}, {"stride", 2}}, {2, 4, 6}),
          average("ema", {{"decay", 0.5}, {"stride", 2}}, {2, 4, 6, 8, 10, 12}),
          average("linear", {{"weights", {1, 2, 3}}}, {8, 10, 12}),
          average("soup", nlohmann::json::object(), {3, 6, 9, 12})};
}

std::string lines() {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += "line " + std::to_string(i * 7919 % 1000) + " of " + std::to_string(i % 13) + "\n";
  }
  return text;
}

}  // namespace

SmallTraining::SmallTraining(fs::path home, const SmallSettings& settings)
    : home_(std::move(home)), state_seconds_(settings.state_seconds) {
  fs::create_directories(home_);
  const fs::path text = home_ / "t.txt";
  if (!fs::exists(text)) {
    std::ofstream(text) << lines();
  }
  TrainingRecipe& recipe = training_.recipe;
  recipe.family = built_catalog().find("model", "gpt_neox");
  recipe.config = kConfig;
  recipe.corpus = corpus_of(text, PartKind::kTraining);
  recipe.tokenizer = recipe.tokenizer_key = "bytes";
  recipe.optimizer.plugin = built_catalog().find("optimizer", settings.optimizer);
  recipe.optimizer.parameters = complete(*recipe.optimizer.plugin, settings.optimizer_parameters);
  recipe.seed = settings.seed;
  recipe.batch = 4;
  recipe.micro_batch = 2;
  recipe.length = 16;
  recipe.clip = 1;
  recipe.peak = 0.01;
  recipe.device = {QUENCH_DEVICE_CPU, 0};
  if (settings.validates) {
    training_.validation = {corpus_of(text, PartKind::kHeldOut), 16, 1};
  }
  training_.branches.push_back(
      {"trunk", schedule(12, 0), 0, {6, 12}, averages_of_run(settings.averages)});
  if (settings.forks) {
    training_.branches.push_back({"fork",
                                  schedule(10, 4),
                                  6,
                                  {10},
                                  {average("lawa", {{"window", 2}, {"every", 2}}, {8, 10})}});
  }
  if (!settings.fork_optimizer.empty()) {
    const PluginDescription* plugin = built_catalog().find("optimizer", settings.fork_optimizer);
    training_.branches.back().optimizer = {plugin, complete(*plugin, settings.fork_parameters)};
  }
}

bool SmallTraining::run(std::optional<int64_t> stop_after) {
  HostServices& services = HostServices::instance();
  said_.clear();
  services.cancel_flag() = false;
  services.set_log_sink(
      [this](int, std::string_view, std::string_view line) { said_.emplace_back(line); });
  int64_t made = 0;
  services.set_progress_sink([&](std::string_view, std::string_view what, uint64_t, uint64_t) {
    made += what == "training steps" ? 1 : 0;
    if (stop_after && made >= *stop_after) {
      services.cancel_flag() = true;
    }
  });
  const auto end = [&] {
    services.set_log_sink(nullptr);
    services.set_progress_sink(nullptr);
    services.cancel_flag() = false;
  };
  TrainOptions options;
  options.home = home_;
  options.state_seconds = state_seconds_;
  try {
    const TrainOutcome outcome = train(built_catalog(), training_, options);
    end();
    if (!outcome.failures.empty()) {
      throw outcome.failures.begin()->second;
    }
    return true;
  } catch (const Error& error) {
    end();
    if (error.code() != QUENCH_CANCELLED) {
      throw;
    }
    return false;
  }
}

bool SmallTraining::run_for(double seconds) {
  std::atomic<bool> ended = false;
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    if (!ended) {
      HostServices::instance().cancel_flag() = true;
    }
  });
  const bool finished = run();
  ended = true;
  stopper.join();
  HostServices::instance().cancel_flag() = false;
  return finished;
}

bool SmallTraining::has_said(const std::string& part) const {
  return std::any_of(said_.begin(), said_.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

std::map<std::string, std::string> SmallTraining::outputs() const {
  const TrainedStates states(home_);
  const std::vector<StateKeys> keys = state_keys(training_);
  std::map<std::string, std::string> out;
  for (size_t i = 0; i < training_.branches.size(); ++i) {
    const TrainingBranch& branch = training_.branches[i];
    for (const int64_t step : branch.checkpoints) {
      out[branch.name + " " + std::to_string(step)] =
          read_file(states.weights_path(keys[i].at(step)) / "model.safetensors");
    }
    for (const LiveAverage& average : branch.averages) {
      const std::string key = live_average_key(average, keys[i]);
      out[branch.name + " " + average.label + " " + key] =
          read_file(states.weights_path(key) / "model.safetensors");
    }
    out[branch.name + " optimizer"] =
        read_file(states.optimizer_path(keys[i].at(branch.steps())) / "state.safetensors");
  }
  return out;
}

nlohmann::json SmallTraining::logs() const {
  const TrainedStates states(home_);
  const std::vector<StateKeys> keys = state_keys(training_);
  nlohmann::json out = nlohmann::json::array();
  for (size_t i = 0; i < training_.branches.size(); ++i) {
    std::istringstream text(training_log(states, keys[i].at(training_.branches[i].steps())));
    for (std::string line; std::getline(text, line);) {
      nlohmann::json row = nlohmann::json::parse(line).at("row");
      row.erase("tokens_per_second");
      row.erase("mfu");
      out.push_back(std::move(row));
    }
  }
  return out;
}

}  // namespace quench::test
