// Every kind of plugin in a process of its own: values are those of one process, to the last bit.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/copied_plugins.hpp"
#include "tests/support/answer.hpp"

using nlohmann::json;
using quench::test::copy_plugins;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

// A training, averages of it, quantizers with transforms and with operations of their own, and
// metrics that need gradients, further weights and searches.
constexpr const char* kManifest = R"(name: same
seed: 0
checkpoints: {model: train}
train:
  model: {model_type: llama, hidden_size: 32, intermediate_size: 64, num_hidden_layers: 2, num_attention_heads: 2,
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
  snapshots: 4
  branch: constant
averaging:
  - greedy_soup
calibration:
  words: {corpus: words, sequences: 2, length: 32, packing: concat}
quantizers:
  - rtn: {bits: [3, 4]}
  - gptq: {bits: [3, 4], inputs: float, group_size: 32}
    calibration: words
  - awq: {bits: 4, group_size: 32}
    calibration: words
  - awq: {bits: 3, group_size: 32, objective: block}
    calibration: words
  - autoround: {bits: 3, group_size: 32, iterations: 4}
    calibration: words
  - rtn: {bits: 4}
    transform: rotation
  - rtn: {bits: 4}
    transform: smoothquant
    calibration: words
  - hqq: {bits: 4, group_size: 32}
  - int8
  - rtn: {bits: 4, activations: int8, rotate: inner, cache: int4, cache_group_size: 16}
  - nf4
  - fp4
  - noise
metrics:
  - validation_loss: {corpus: words, block: 32}
  - divergence: {corpus: words, block: 32}
  - weights
  - taylor: {corpus: words, length: 32, rows: 1}
  - sharpness: {corpus: words, length: 32, rows: 1}
  - landscape: {corpus: words, block: 32, blocks: 1}
corpora:
  words: {text: {path: t.txt}}
)";

// A training whose optimizer has the batch evaluated elsewhere, two processes away from the model.
constexpr const char* kClosureManifest = R"(name: same
seed: 0
checkpoints: {model: train}
train:
  model: {model_type: llama, hidden_size: 32, intermediate_size: 64, num_hidden_layers: 2, num_attention_heads: 2,
          num_key_value_heads: 2, vocab_size: 256, max_position_embeddings: 64, hidden_act: silu, rms_norm_eps: 1.0e-5,
          initializer_range: 0.02, tie_word_embeddings: false}
  corpus: words
  tokenizer: bytes
  optimizer: {trace_penalty: {strength: 1.0e-4}}
  lr: {schedule: constant, peak: 8e-3, warmup: 5}
  batch: 4
  micro_batch: 2
  length: 32
  steps: 8
  every: 4
metrics:
  - validation_loss: {corpus: words, block: 32}
corpora:
  words: {text: {path: t.txt}}
)";

// Values, or errors, by what was measured.
std::map<std::string, json> measure(const Workplace& here, bool apart) {
  Workplace::Arguments words = {"run", "m.yaml", "--json", "--fresh", "--threads", "2"};
  if (apart) {
    words.insert(words.end(), {"--plugin-path", "plugins"});
  }
  const Outcome got = here.run(words);
  INFO(got.err);
  REQUIRE(got.code <= 1);  // with int8's operations there are no float weights to compare with
  std::map<std::string, json> out;
  const json told = quench::test::data_of(got.out);
  for (const json& record : told.at("records")) {
    std::string what =
        record.at("checkpoint").at("revision").dump() + " " +
        (record.at("averaging").is_object() ? record.at("averaging").at("id").dump() : "") + " ";
    if (const json& quantizer = record.at("quantizer"); quantizer.is_object()) {
      what += quantizer.at("id").dump() + quantizer.at("params").dump() + " ";
      if (const auto transform = quantizer.find("transform");
          transform != quantizer.end() && transform->is_object()) {
        what += transform->at("id").dump() + " ";
      }
    }
    what += record.at("metric").dump();
    out[what] = record.at("value").is_null() ? record.at("error") : record.at("value");
  }
  return out;
}

}  // namespace

TEST_CASE("worker: every kind of plugin gives the same values in a process of its own",
          "[boundary][slow]") {
  quench::test::need_plugin("models/llama");
  const Workplace here(Page::kNone);
  here.folder().write("m.yaml", kManifest);
  copy_plugins(here);
  const std::map<std::string, json> together = measure(here, false);
  const std::map<std::string, json> apart = measure(here, true);
  CHECK(together.size() > 100);
  CHECK(together.size() == apart.size());
  for (const char* rounds : {R"("int8"{)", R"("cache":"int4")"}) {
    CAPTURE(rounds);
    const auto differentiated = std::ranges::count_if(together, [&](const auto& each) {
      return each.first.find(rounds) != std::string::npos &&
             each.first.ends_with(R"("sharpness")") && each.second.is_number();
    });
    CHECK(differentiated > 0);
  }
  for (const auto& [what, value] : together) {
    INFO(what);
    const auto found = apart.find(what);
    REQUIRE(found != apart.end());
    CHECK(found->second == value);
  }
}

TEST_CASE("worker: an optimizer in a process of its own evaluates the batch with the same bits",
          "[boundary][slow]") {
  quench::test::need_plugin("models/llama");
  const auto measured = [](bool apart) {
    const Workplace here(Page::kNone);  // each trains itself
    copy_plugins(here);
    here.folder().write("m.yaml", kClosureManifest);
    return measure(here, apart);
  };
  const std::map<std::string, json> together = measured(false);
  CHECK(together.size() == 2);
  CHECK(measured(true) == together);
}
