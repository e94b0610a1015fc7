// Every family on each device, from drawn weights over a few steps to quantized ones.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/contract/device.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

// Of a value from the processor's, relative to the largest of its kind. Products are added in
// another order, and the first steps of Adam go by the signs of gradients, so a weight whose
// gradient is near zero goes the other way.
constexpr double kOffInFamilies = 1e-3;
// A change by rounding is small beside the loss, and a code on the other side moves it: in nats.
constexpr double kRoundedInFamilies = 2e-3;

// The configs of the experiments on families, and of the models with reference numbers: one of
// each.
std::string models(const Workplace& here) {
  const std::filesystem::path configs = source_dir() / "configs/experiments";
  std::string out;
  for (const char* config :
       {"families/apertus", "families/gpt_neox", "families/gpt_neox_sequential", "families/llama",
        "families/olmo2", "families/olmo_clip", "families/olmo_tied", "families/opensci",
        "families/smollm3", "architectures/routed", "architectures/state_space"}) {
    const std::string name = std::filesystem::path(config).filename().string() + ".json";
    std::filesystem::copy_file(configs / (std::string(config) + ".json"), here.folder() / name);
    out += (out.empty() ? "" : ", ") + name;
  }
  for (const std::string family : {"dots1", "gemma2", "gemma3_text", "olmo3", "qwen2", "qwen3"}) {
    nlohmann::json config =
        nlohmann::json::parse(read_file(source_dir() / "tests/data/families" / (family + ".json")));
    config = config.at("configs").at("4.57.6");
    config["vocab_size"] = 256;  // bytes
    here.folder().write(family + ".json", config.dump());
    out += ", " + family + ".json";
  }
  return out;
}

Values measured_on(const std::string& device) {
  const Workplace here(Page::kNone);
  here.folder().write("m.yaml",
                      "name: m\n"
                      "checkpoints: {model: train}\n"
                      "device: " +
                          device +
                          "\n"
                          "train:\n"
                          "  model: llama.json\n"
                          "  corpus: text\n"
                          "  tokenizer: bytes\n"
                          "  optimizer: {adamw: {weight_decay: 0.1}}\n"
                          "  lr: {schedule: constant, peak: 0.003}\n"
                          "  batch: 2\n"
                          "  length: 24\n"
                          "  steps: 3\n"
                          "  every: 3\n"
                          "sweep: {train.model: [" +
                          models(here) +
                          "]}\n"
                          "calibration: {rows: {corpus: text, sequences: 4, length: 24}}\n"
                          "quantizers:\n"
                          "  - rtn: {bits: 4, group_size: 32}\n"
                          "  - gptq: {bits: 4, group_size: 32, sym: false}\n"
                          "    calibration: rows\n"
                          "  - int8\n"
                          "metrics:\n"
                          "  - validation_loss: {corpus: text, block: 24}\n"
                          "  - sharpness: {corpus: text, length: 24, rows: 2}\n"
                          "    of: float\n"
                          "corpora: {text: {text: {path: t.txt, split: line}}}\n");
  return measured(here, device);
}

void check_families_on(const std::string& device) {
  need_plugin("models/gpt_neox");
  need_device(Workplace(Page::kNone), device);
  const Values got = measured_on(device);
  // Seventeen models; of each the loss of four, the changes by three, and sharpness.
  REQUIRE(got.size() >= 17 * 8);
  const Values wanted = device == "cpu" ? got : measured_on("cpu");
  REQUIRE(got.size() == wanted.size());
  const std::map<std::string, double> largest = largest_of(wanted);
  for (const auto& [place, value] : wanted) {
    CAPTURE(place);
    const double near = std::max(kOffInFamilies, jump_of(place)) * largest.at(kind_of(place));
    const bool is_change = place[0] == "quantization_error";
    CHECK(std::fabs(got.at(place) - value) <=
          (is_change ? std::max(near, kRoundedInFamilies) : near));
  }
}

}  // namespace

TEST_CASE("contract: on cpu every family trains and is quantized", "[contract]") {
  check_families_on("cpu");
}

TEST_CASE("contract: on cuda:0 every family trains and is quantized to the processor's values",
          "[contract][cuda]") {
  check_families_on("cuda:0");
}

}  // namespace quench::test
