// What does not fit the shapes of a model is told before anything is computed.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"

namespace fs = std::filesystem;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

const std::string kNeox =
    "{model_type: gpt_neox, hidden_size: 16, intermediate_size: 32, num_hidden_layers: 3, "
    "num_attention_heads: 2, vocab_size: 256, max_position_embeddings: 16, hidden_act: gelu, "
    "layer_norm_eps: 1e-5, rotary_pct: 0.25, rotary_emb_base: 10000, use_parallel_residual: true, "
    "attention_bias: true, tie_word_embeddings: false, initializer_range: 0.02}";

// A training of a small gpt_neox whose only quantizer has these rules.
std::string training(const std::string& rules, const std::string& corpus = "text: {path: t.txt}") {
  return "name: m\n"
         "checkpoints: {model: train}\n"
         "train: {model: " +
         kNeox +
         ", corpus: v, tokenizer: bytes, optimizer: adamw, lr: {schedule: constant, peak: 0.01}, "
         "batch: 1, length: 8, steps: 1, every: 1}\n"
         "quantizers:\n"
         "  - rtn: {bits: 4, group_size: 16, lm_head: false, modules: [" +
         rules +
         "]}\n"
         "metrics: [validation_loss: {corpus: v, block: 8}]\n"
         "corpora: {v: {" +
         corpus + "}}\n";
}

void need_plugins() {
  quench::test::need_plugin("quantizers/rtn");
  quench::test::need_plugin("models/gpt_neox");
}

}  // namespace

TEST_CASE("module rules: a pattern that fits nothing is an error of plan and run", "[cli]") {
  need_plugins();
  const Workplace here{Page::kNone};
  here.folder().write("m.yaml",
                      training("\"*.attention.dense bits=3\", \"*.mlp.dense_h_to_4 skip\""));
  for (const char* command : {"plan", "run"}) {
    INFO(command);
    const Outcome got = here.run({command, "m.yaml"});
    CHECK(got.code == 2);
    CHECK_THAT(got.err, Catch::Contains("m.yaml:5:5: quantizer rtn: modules[1]: "
                                        "\"*.mlp.dense_h_to_4\" matches no quantized linear; "
                                        "nearest: gpt_neox.layers.0.mlp.dense_h_to_4h, "));
    CHECK_FALSE(fs::exists(here.folder() / "runs"));
  }
  // The output head counts where it is quantized.
  here.folder().write("m.yaml", training("\"embed_out bits=8\""));
  CHECK(here.run({"plan", "m.yaml"}).code == 2);
  CHECK(here.run({"plan", "m.yaml", "--set", "quantizers.0.rtn.lm_head=true"}).code == 0);
}

// The template family does not describe itself, so its linears are known once it is open.
TEST_CASE("module rules: where shapes are not told, the cells fail when the model opens", "[cli]") {
  need_plugins();
  const Workplace here{Page::kNone};
  here.folder().write("m.yaml",
                      "name: m\ncheckpoints: {model: tiny}\n"
                      "quantizers:\n"
                      "  - rtn: {bits: 4, group_size: 16, modules: [\"*.mix bits=3\"]}\n"
                      "  - rtn: {bits: 4, group_size: 16, modules: [\"*.max bits=3\"]}\n"
                      "metrics: [validation_loss: {corpus: v, block: 16}]\n"
                      "corpora: {v: {text: {path: t.txt}}}\n");
  CHECK(here.run({"plan", "m.yaml"}).code == 0);
  const Outcome got = here.run({"run", "m.yaml"});
  CHECK(got.code == 1);
  CHECK_THAT(got.out, Catch::Contains("1 failed"));
  CHECK_THAT(got.out, Catch::Contains("nearest: blocks.0.mix"));
}

TEST_CASE("model shapes: a block beyond the context is an error of run before any work", "[cli]") {
  need_plugins();
  const Workplace here{Page::kNone};
  here.folder().write("m.yaml", training("\"*.attention.dense bits=3\""));
  const Outcome got = here.run({"run", "m.yaml", "--set", "metrics.0.validation_loss.block=17"});
  CHECK(got.code == 2);
  CHECK_THAT(got.err,
             Catch::Contains("metric validation_loss: block: got 17 ids, wanted at most 16, "
                             "the context of the model; write `block: 16`"));
  CHECK_FALSE(fs::exists(here.folder() / "runs"));
  const Outcome fits = here.run({"run", "m.yaml", "--set", "metrics.0.validation_loss.block=16"});
  CHECK(fits.code == 0);
}

TEST_CASE("plan: work on a part of a text is that share of the work on all of it", "[cli]") {
  need_plugins();
  const Workplace here{Page::kNone};
  here.folder().write("t.txt", std::string(1'000'000, 'a'));
  const auto planned = [&](const char* corpus) {
    here.folder().write("m.yaml", training("\"*.mlp.* bits=3\"", corpus));
    const Outcome got = here.run({"plan", "m.yaml", "--json"});
    INFO(got.err);
    REQUIRE(got.code == 0);
    return quench::test::data_of(got.out).at("total").at("flops").get<double>();
  };
  const double all = planned("text: {path: t.txt}");
  CHECK(planned("text: {path: t.txt}, part: held_out, held_out: 0.25") ==
        Approx(all * 0.25).epsilon(1e-3));
  CHECK(planned("text: {path: t.txt}, part: training, held_out: 0.25") ==
        Approx(all * 0.75).epsilon(1e-3));
}
