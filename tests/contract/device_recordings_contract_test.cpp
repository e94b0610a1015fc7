// Work that is recorded and told again (QUENCH_CUDA_GRAPHS=1) on each device that records: the
// values of work that is told each time.
#include <catch2/catch.hpp>
#include <string>

#include "tests/contract/device.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

// What a GPU that is none counted under that name; 0 where it counts nothing.
int counted(const std::string& census, const std::string& name) {
  const size_t end = census.find(" " + name + "\n");
  const size_t begin = end == std::string::npos ? end : census.rfind('\n', end);
  return end == std::string::npos
             ? 0
             : std::stoi(census.substr(begin == std::string::npos ? 0 : begin + 1));
}

// `rows` of 16 tokens: two micro-batches of a GPU where there are 4096.
std::string manifest_of(const std::string& model, const std::string& precision, int rows) {
  return "name: m\n"
         "checkpoints: {model: train}\n"
         "device: cuda:0\n"
         "train:\n"
         "  model: {" +
         model +
         ", hidden_size: 16, num_hidden_layers: 2, vocab_size: 256,\n"
         "          initializer_range: 0.02, tie_word_embeddings: false}\n"
         "  corpus: text\n"
         "  tokenizer: bytes\n"
         "  optimizer: {adamw: {weight_decay: 0.1}}\n"
         "  precision: " +
         precision +
         "\n"
         "  lr: {schedule: constant, peak: 0.01}\n"
         "  batch: 4\n"
         "  length: 16\n"
         "  steps: 8\n"
         "  every: 8\n"
         "calibration: {rows: {corpus: text, sequences: " +
         std::to_string(rows) +
         ", length: 16}}\n"
         "quantizers:\n"
         "  - rtn: {bits: 4}\n"
         "  - gptq: {bits: 3, group_size: 16, sym: false}\n"
         "    calibration: rows\n"
         "metrics: [validation_loss: {corpus: held_out, block: 16}]\n"
         "corpora: {text: {text: {path: t.txt, split: line}},\n"
         "          held_out: {text: {path: h.txt, split: line}}}\n";
}

struct Measured {
  Values values;
  std::string census;
  std::string said;
};

Measured measured_of(const std::string& manifest, const std::string& graphs) {
  const Workplace here(Page::kNone);
  std::string text;
  for (int i = 0; i < 6400; ++i) {
    text += "line " + std::to_string(i * 7919 % 100000) + " of " + std::to_string(i % 13) + "\n";
  }
  here.folder().write("t.txt", text);
  here.folder().write("h.txt", text.substr(0, 1200));
  here.folder().write("m.yaml", manifest);
  const std::filesystem::path census = here.folder() / "census";
  Measured out;
  out.values =
      measured(here, "cuda:0",
               {"QUENCH_CUDA_GRAPHS=" + graphs, "PRETENDED_CENSUS=" + census.string()}, &out.said);
  if (std::filesystem::exists(census)) {
    out.census = read_file(census);
  }
  return out;
}

const std::string kRefused = "cannot be recorded, so it is told each time";
const std::string kGptNeox =
    "model_type: gpt_neox, hidden_act: gelu, layer_norm_eps: 1e-5, rotary_pct: 0.25, "
    "rotary_emb_base: 10000, use_parallel_residual: true, attention_bias: true, intermediate_size: "
    "32, "
    "num_attention_heads: 2, max_position_embeddings: 16";
const std::string kLlama =
    "model_type: llama, hidden_act: silu, rms_norm_eps: 1e-5, rope_theta: 10000, "
    "num_key_value_heads: 1, intermediate_size: 32, num_attention_heads: 2, "
    "max_position_embeddings: 16";
const std::string kMamba =
    "model_type: mamba, hidden_act: silu, layer_norm_epsilon: 1e-5, state_size: 4, conv_kernel: 4, "
    "expand: 2, time_step_rank: 2";

}  // namespace

TEST_CASE("contract: on cuda:0 work that is recorded has the values of work that is told each time",
          "[contract][cuda]") {
  need_plugin("models/gpt_neox");
  need_device(Workplace(Page::kNone), "cuda:0");
  const auto [model, precision, rows] = GENERATE_REF(table<std::string, std::string, int>(
      {{kGptNeox, "float32", 4096}, {kLlama, "bfloat16", 64}}));
  CAPTURE(model, precision);
  const std::string manifest = manifest_of(model, precision, rows);
  const Measured told = measured_of(manifest, "0");
  const Measured recorded = measured_of(manifest, "1");
  REQUIRE(told.values.size() == 5);
  CHECK(recorded.values == told.values);
  CHECK(recorded.said.find(kRefused) == std::string::npos);
  if (!recorded.census.empty()) {
    CHECK(counted(told.census, "a recording") == 0);
    // Of a step from the third on; and of stages of two blocks, before and after their rounding.
    CHECK(counted(recorded.census, "a recording") >= (rows == 4096 ? 5 : 1));
    CHECK(counted(recorded.census, "a recording told again") >= (rows == 4096 ? 10 : 6));
  }
}

TEST_CASE("contract: on cuda:0 work that cannot be recorded is done as ever", "[contract][cuda]") {
  need_plugin("models/mamba");
  need_device(Workplace(Page::kNone), "cuda:0");
  const std::string manifest = manifest_of(kMamba, "float32", 64);
  const Measured refused = measured_of(manifest, "1");
  CHECK(refused.values == measured_of(manifest, "0").values);
  CHECK(refused.said.find("a training step " + kRefused) != std::string::npos);
}

}  // namespace quench::test
