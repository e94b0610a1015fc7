// Runs that train and differentiate, on each device: held against the processor's, and against
// themselves. No two of them share a store.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/cli/program.hpp"
#include "tests/contract/device.hpp"

namespace quench::test {

namespace {

// How far a change by rounding may be from the processor's, in nats or of the loss: at these bits
// one code that falls on the other side moves it by a tenth of that.
constexpr double kRounded = 5e-4;

struct Case {
  const char* optimizer;
  const char* precision;
  double off;  // of a value from the processor's, relative to the largest of its kind
};

// Ten steps carry what the first products differ in to every weight; products in bfloat16 differ by
// 2^-9 of themselves.
constexpr Case kCases[] = {
    {"adamw: {weight_decay: 0.1}", "float32", 2e-3},
    {"sgd: {momentum: 0.9, nesterov: true}", "float32", 2e-3},
    {"schedule_free_adamw: {weight_decay: 0.1}", "float32", 2e-3},
    {"muon: {weight_decay: 0.1}", "float32", 2e-3},
    {"sam: {rho: 0.05}", "float32", 2e-3},
    {"trace_penalty: {strength: 1e-4}", "float32", 2e-3},
    {"noise_injection: {sigma: 0.05}", "float32", 2e-3},
    {"qat: {bits: 4, group_size: 8}", "float32", 5e-2},  // a code flips in a step, too
    {"adamw: {weight_decay: 0.1}", "bfloat16", 5e-2},
};

std::string manifest_of(const Case& of, const std::string& device) {
  return std::string(
             "name: m\n"
             "checkpoints: {model: train}\n"
             "train:\n"
             "  model: {model_type: gpt_neox, hidden_size: 16, intermediate_size: 32,\n"
             "          num_hidden_layers: 2, num_attention_heads: 2, vocab_size: 256,\n"
             "          max_position_embeddings: 16, hidden_act: gelu, layer_norm_eps: 1e-5,\n"
             "          rotary_pct: 0.25, rotary_emb_base: 10000, use_parallel_residual: true,\n"
             "          attention_bias: true, tie_word_embeddings: false,\n"
             "          initializer_range: 0.02}\n"
             "  corpus: text\n"
             "  tokenizer: bytes\n"
             "  optimizer: {") +
         of.optimizer + "}\n  precision: " + of.precision +
         "\n"
         "  lr: {schedule: constant, peak: 0.01}\n"
         "  batch: 4\n"
         "  micro_batch: 2\n"
         "  length: 16\n"
         "  steps: 10\n"
         "  every: 5\n"
         "averaging: [lawa: {window: 2, every: 5}]\n"
         "quantizers: [rtn: {bits: 3}]\n"
         "metrics:\n"
         "  - validation_loss: {corpus: text, block: 16}\n"
         "  - hessian: {corpus: text, length: 16, rows: 8, top: 1, trace_samples: 4}\n"
         "    of: float\n"
         "  - taylor: {corpus: text, length: 16, rows: 8, parts: none}\n"
         "  - sharpness: {corpus: text, length: 16, rows: 8}\n"
         "    of: float\n"
         "corpora: {text: {text: {path: t.txt, split: line}}}\n"
         "device: " +
         device + "\n";
}

// What a run measures, in a folder and a store of its own.
Values measured(const Case& of, const std::string& device) {
  const Workplace here(Page::kNone);
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "line " + std::to_string(i * 7919 % 1000) + " of " + std::to_string(i % 13) + "\n";
  }
  here.folder().write("t.txt", text);
  here.folder().write("m.yaml", manifest_of(of, device));
  return measured(here, device);
}

void check_runs_on(const std::string& device) {
  need_plugin("models/gpt_neox");
  need_device(Workplace(Page::kNone), device);
  for (const Case& of : kCases) {
    CAPTURE(device, of.optimizer, of.precision);
    const Values got = measured(of, device);
    CHECK(got == measured(of, device));
    const Values wanted = device == "cpu" ? got : measured(of, "cpu");
    // Three sets of weights with a loss, float and rounded, and three of derivatives.
    REQUIRE(got.size() >= 12);
    REQUIRE(got.size() == wanted.size());
    const std::map<std::string, double> largest = largest_of(wanted);
    for (const auto& [place, value] : wanted) {
      CAPTURE(place);
      const bool is_change = place[0] == "quantization_error" || place[0] == "taylor";
      const double near = std::max(of.off, jump_of(place)) * largest.at(kind_of(place));
      CHECK(std::fabs(got.at(place) - value) <= (is_change ? std::max(near, kRounded) : near));
    }
  }
}

}  // namespace

TEST_CASE("contract: on cpu a run that trains and differentiates has the same bits again",
          "[contract]") {
  check_runs_on("cpu");
}

TEST_CASE(
    "contract: on cuda:0 a run that trains and differentiates has the same bits again, and "
    "the processor's values within bounds",
    "[contract][cuda]") {
  check_runs_on("cuda:0");
}

}  // namespace quench::test
