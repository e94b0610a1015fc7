// What a plan says of a metric's memory against what the metric takes.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"

using quench::test::Outcome;
using quench::test::Workplace;

namespace {

// 9 million parameters, so that a vector is 34 MiB.
const std::string kModel =
    "{model_type: gpt_neox, hidden_size: 256, intermediate_size: 1024, num_hidden_layers: 6, "
    "num_attention_heads: 4, vocab_size: 8192, max_position_embeddings: 64, hidden_act: gelu, "
    "layer_norm_eps: 1e-5, rotary_pct: 0.25, rotary_emb_base: 10000, use_parallel_residual: true, "
    "attention_bias: true, tie_word_embeddings: false, initializer_range: 0.02}";

std::string manifest(const std::string& metric) {
  return "name: m\n"
         "checkpoints: {model: train}\n"
         "train: {model: " +
         kModel +
         ", corpus: v, tokenizer: bytes, optimizer: sgd, lr: {schedule: constant, peak: 0.001}, "
         "batch: 1, length: 16, steps: 1, every: 1}\n"
         "metrics: [" +
         metric +
         "]\n"
         "corpora: {v: {text: {path: t.txt}}}\n";
}

}  // namespace

TEST_CASE("plan: the memory of a Hessian is within 15 % of what it takes", "[cli][slow]") {
  quench::test::need_plugin("models/gpt_neox");
  quench::test::need_plugin("optimizers/sgd");
  const Workplace here;
  here.folder().write("m.yaml", manifest("validation_loss: {corpus: v, block: 64}"));
  REQUIRE(here.run({"run", "m.yaml"}).code == 0);
  const std::string settings =
      "length: 64, rows: 2, top: 1, basis: 24, steps: 24, tolerance: 1e-14, trace_samples: 0";
  here.folder().write("p.yaml", manifest("hessian: {corpus: v, " + settings + "}"));
  const Outcome plan = here.run({"plan", "p.yaml", "--json"});
  REQUIRE(plan.code == 0);
  const auto predicted = quench::test::data_of(plan.out)
                             .at("cells")
                             .at(0)
                             .at("cost")
                             .at("peak_memory_bytes")
                             .get<double>();
  const Outcome eval =
      here.run({"eval", "runs/m/checkpoints/step1", "--tokenizer", "bytes", "--json", "--metric",
                "hessian:text=t.txt,length=64,rows=2,top=1,basis=24,steps=24,tolerance=1e-14,"
                "trace_samples=0"});
  REQUIRE(eval.code == 0);
  const auto measured = quench::test::data_of(eval.out)
                            .at("records")
                            .at(0)
                            .at("environment")
                            .at("peak_memory_bytes")
                            .get<double>();
  CHECK(predicted == Approx(measured).epsilon(0.15));
  const Outcome words = here.run({"plan", "p.yaml"});
  CHECK_THAT(words.out, Catch::Contains("GiB of memory besides the model"));
}
