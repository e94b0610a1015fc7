#include "tests/train/training_scene.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>

#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::test {

namespace fs = std::filesystem;

namespace {

constexpr const char* kModel =
    "{model_type: gpt_neox, hidden_size: 16, intermediate_size: 32, num_hidden_layers: 1, "
    "num_attention_heads: 2, vocab_size: 256, max_position_embeddings: 16, hidden_act: gelu, "
    "layer_norm_eps: 1e-5, rotary_pct: 0.25, rotary_emb_base: 10000, use_parallel_residual: true, "
    "attention_bias: true, tie_word_embeddings: false, initializer_range: 0.02}";

std::string manifest_of(const SceneSettings& settings) {
  return "name: m\n"
         "checkpoints: {model: train}\n"
         "train: {model: " +
         std::string(kModel) +
         ", corpus: text, tokenizer: bytes, optimizer: " + settings.optimizer +
         ", lr: " + settings.rate + ", batch: 4, length: 16, " + settings.rest +
         "}\n"
         "averaging: " +
         settings.averaging +
         "\n"
         "metrics: [validation_loss: {corpus: held_out, block: 16}]\n"
         "corpora:\n"
         "  text: {text: {path: t.txt, split: line}, part: training, held_out: 0.2}\n"
         "  held_out: {text: {path: t.txt, split: line}, part: held_out, held_out: 0.2}\n" +
         settings.sweep;
}

// Probes of all plugins, once for the process.
const fs::path& probed_home() {
  static const TemporaryDir kHome;
  static const fs::path kPath = [] {
    const Ended ended = run_program({(binary_dir() / "bin/quench").string(), "plugins", "list"},
                                    {{"QUENCH_HOME", kHome.path().string()}}, kHome.path());
    REQUIRE(ended.code == 0);
    return kHome.path();
  }();
  return kPath;
}

}  // namespace

TrainingScene::TrainingScene(const SceneSettings& settings) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += "line " + std::to_string(i * 7919 % 1000) + " of " + std::to_string(i % 13) + "\n";
  }
  folder_.write("t.txt", text);
  folder_.write("m.yaml", manifest_of(settings));
  reset();
}

void TrainingScene::reset() const {
  fs::remove_all(folder_ / "runs");
  fs::remove_all(folder_ / "home");
  fs::create_directory(folder_ / "home");
  fs::copy(probed_home() / "plugins.json", folder_ / "home/plugins.json");
}

std::map<std::string, std::string> TrainingScene::environment() const {
  return {{"QUENCH_HOME", (folder_ / "home").string()}};
}

std::vector<std::string> TrainingScene::command(std::vector<std::string> more) const {
  std::vector<std::string> out = {(binary_dir() / "bin/quench").string(), "run", "m.yaml"};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

Ended TrainingScene::run(std::vector<std::string> more) const {
  return run_program(command(std::move(more)), environment(), folder_.path());
}

FaultedRun TrainingScene::run_under(const FaultPlan& plan) const {
  FaultPlan here = plan;
  here.under = folder_.path().string();
  return run_under_faults(command(), here, environment(), folder_.path());
}

nlohmann::json TrainingScene::records(std::vector<std::string> more) const {
  more.push_back("--json");
  const Ended ended = run(std::move(more));
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  return data_of(ended.out).at("records");
}

nlohmann::json TrainingScene::answer(const std::vector<std::string>& words) const {
  std::vector<std::string> command = {(binary_dir() / "bin/quench").string()};
  command.insert(command.end(), words.begin(), words.end());
  command.push_back("--json");
  const Ended ended = run_program(command, environment(), folder_.path());
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  return data_of(ended.out);
}

nlohmann::json TrainingScene::whole_plan() const {
  return answer({"plan", "m.yaml"});
}

nlohmann::json TrainingScene::plan() const {
  return whole_plan().at("training");
}

std::string TrainingScene::weights(const std::string& checkpoint) const {
  return read_file(folder_ / "runs/m/checkpoints" / checkpoint / "model.safetensors");
}

std::vector<nlohmann::json> TrainingScene::log(const std::string& name) const {
  std::vector<nlohmann::json> out;
  std::istringstream lines(read_file(folder_ / "runs/m/training" / (name + ".jsonl")));
  for (std::string line; std::getline(lines, line);) {
    out.push_back(nlohmann::json::parse(line).at("row"));
  }
  return out;
}

}  // namespace quench::test
