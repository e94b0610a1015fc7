// Plugins in processes of their own with a model in memory that only its family can reach: values
// are those of one process with the model in host memory, to the last bit, and what the processes
// share is pinned where it is copied (plugins/pins.hpp).
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/copied_plugins.hpp"
#include "tests/core/boundary/misbehaving.hpp"
#include "tests/support/answer.hpp"

using nlohmann::json;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

// What is shown rows, replays blocks, makes operations, edits weights, and asks for derivatives.
const std::set<std::string> kThatSeeTheModel = {"rtn",    "gptq",        "awq",      "hqq",
                                                "int8",   "smoothquant", "rotation", "divergence",
                                                "taylor", "sharpness"};

// Its gradient is larger than what other copies have pinned.
constexpr const char* kTraining = R"(name: trained
checkpoints: {model: train}
train:
  model: {model_type: llama, hidden_size: 128, intermediate_size: 512, num_hidden_layers: 2, num_attention_heads: 2,
          num_key_value_heads: 2, vocab_size: 256, max_position_embeddings: 64, hidden_act: silu, rms_norm_eps: 1.0e-5,
          initializer_range: 0.02, tie_word_embeddings: false}
  corpus: words
  tokenizer: bytes
  optimizer: {schedule_free_adamw: {}}
  lr: {schedule: constant, peak: 8e-3, warmup: 5}
  batch: 2
  length: 32
  steps: 12
  every: 12
metrics:
  - validation_loss: {corpus: words, block: 32}
corpora:
  words: {text: {path: t.txt}}
)";

constexpr const char* kMeasured = R"(
calibration:
  words: {corpus: words, sequences: 2, length: 32, packing: concat}
quantizers:
  - rtn: {bits: 3}
    calibration: words
  - gptq: {bits: 4, group_size: 32}
    calibration: words
  - gptq: {bits: 3, gptaq: true, group_size: 32}
    calibration: words
  - awq: {bits: 3, group_size: 32, objective: block}
    calibration: words
  - rtn: {bits: 4}
    transform: rotation
  - rtn: {bits: 4}
    transform: smoothquant
    calibration: words
  - hqq: {bits: 4, group_size: 32}
  - int8: {activations: true}
metrics:
  - validation_loss: {corpus: words, block: 32}
  - divergence: {corpus: words, block: 32}
  - taylor: {corpus: words, length: 32, rows: 1}
  - sharpness: {corpus: words, length: 32, rows: 1}
corpora:
  words: {text: {path: t.txt}}
)";

// The folder of the checkpoint that the training leaves.
std::filesystem::path trained(const Workplace& here) {
  here.folder().write("train.yaml", kTraining);
  const Outcome got = here.run({"run", "train.yaml"});
  INFO(got.err);
  REQUIRE(got.code == 0);
  for (const auto& entry : std::filesystem::directory_iterator(here.folder() / "home/training")) {
    if (std::filesystem::exists(entry.path() / "config.json")) {
      return entry.path();
    }
  }
  FAIL("the training left no checkpoint");
  return {};
}

struct Measured {
  std::map<std::string, json> values;  // or errors, by what was measured
  std::string said;                    // on stderr
};

Measured measure(const Workplace& here, const std::filesystem::path& checkpoint,
                 const std::string& family, bool apart) {
  here.folder().write(family + ".yaml", "name: " + family +
                                            "\ncheckpoints: {model: " + checkpoint.string() +
                                            ", tokenizer: bytes, family: " + family +
                                            "}\nin_process: [model/" + family + "]" + kMeasured);
  Workplace::Arguments arguments = {
      "run",           family + ".yaml",
      "--json",        "--fresh",
      "--threads",     "2",
      "--sandbox",     "off",  // the family opens another's library
      "--plugin-path", quench::test::boundary_plugin(family == "llama" ? "distant" : family)};
  if (apart) {
    arguments.insert(arguments.end(), {"--plugin-path", "plugins"});
  }
  const Outcome got = here.run(arguments);
  INFO(got.err);
  REQUIRE(got.code <= 1);  // with int8's operations there are no float weights to compare with
  Measured out{{}, got.err};
  const json told = quench::test::data_of(got.out);
  for (const json& record : told.at("records")) {
    std::string what = record.at("metric").dump();
    if (const json& quantizer = record.at("quantizer"); quantizer.is_object()) {
      what += quantizer.at("id").dump() + quantizer.at("params").dump();
      if (const auto transform = quantizer.find("transform");
          transform != quantizer.end() && transform->is_object()) {
        what += transform->at("id").dump();
      }
    }
    out.values[what] = record.at("value").is_null() ? record.at("error") : record.at("value");
  }
  return out;
}

int times(const std::string& text, const std::string& part) {
  int out = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++out;
  }
  return out;
}

// How many copies the family made in memory that was pinned, and in other shared memory.
std::pair<int, int> copies(const std::string& said) {
  std::pair<int, int> out;
  static const std::regex kLine("pins: [0-9]+ asked, ([0-9]+) pinned copies, ([0-9]+) others");
  for (std::sregex_iterator line(said.begin(), said.end(), kLine), end; line != end; ++line) {
    out.first += std::stoi((*line)[1]);
    out.second += std::stoi((*line)[2]);
  }
  return out;
}

}  // namespace

TEST_CASE("worker: values of a model in memory of its own are those of one in host memory",
          "[boundary][slow]") {
  quench::test::need_plugin("models/llama");
  const Workplace here(Page::kNone);
  const std::filesystem::path checkpoint = trained(here);
  REQUIRE(quench::test::copy_plugins(here, kThatSeeTheModel) == kThatSeeTheModel);
  const auto together = measure(here, checkpoint, "llama", false).values;
  CHECK(together.size() > 35);
  CHECK(std::count_if(together.begin(), together.end(),
                      [](const auto& each) { return each.second.is_number(); }) > 30);
  // Pinned or not, it is the same.
  for (const std::string family : {"distant", "distant_unpinned"}) {
    CAPTURE(family);
    const Measured apart = measure(here, checkpoint, family, true);
    INFO(apart.said);
    const auto [pinned, others] = copies(apart.said);
    if (family == "distant") {
      CHECK(pinned > 1000);
      CHECK(others == 0);
      CHECK(times(apart.said, "it pins nothing") == 0);
    } else {
      CHECK(pinned == 0);
      CHECK(others > 1000);
      CHECK(times(apart.said, "it pins nothing") == 1);
    }
    CHECK(together.size() == apart.values.size());
    for (const auto& [what, value] : together) {
      INFO(what);
      const auto found = apart.values.find(what);
      REQUIRE(found != apart.values.end());
      CHECK(found->second == value);
    }
  }
}
