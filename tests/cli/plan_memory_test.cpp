// What a plan says of memory against what is taken.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/copied_plugins.hpp"
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

std::string manifest(const std::string& metric, const std::string& model = kModel) {
  return "name: m\n"
         "checkpoints: {model: train}\n"
         "train: {model: " +
         model +
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

TEST_CASE("plan: a metric's vectors are where they would be", "[cli][slow]") {
  quench::test::need_plugin("models/gpt_neox");
  quench::test::need_plugin("metrics/hessian");
  const Workplace here;
  const std::string metric =
      "hessian: {corpus: v, length: 64, rows: 2, top: 1, basis: 24, steps: 24, trace_samples: 0}";
  quench::test::copy_plugins(here, {"hessian"});
  const auto predicted = [&](const std::string& more, const char* what,
                             const Workplace::Arguments& words = {}) {
    here.folder().write("p.yaml", manifest(metric) + more);
    Workplace::Arguments plan_words = {"plan", "p.yaml", "--json"};
    plan_words.insert(plan_words.end(), words.begin(), words.end());
    const Outcome plan = here.run(plan_words);
    INFO(plan.err);
    REQUIRE(plan.code == 0);
    return quench::test::data_of(plan.out).at("total").at(what).get<uint64_t>();
  };
  constexpr uint64_t kLinears = 12 * 256 * 256;  // of one block
  constexpr uint64_t kBlock = kLinears + (3 + 1 + 4 + 1) * 256 + 2 * 2 * 256;
  constexpr uint64_t kParameters = 2 * 8192 * 256 + 6 * kBlock + 2 * 256;
  constexpr uint64_t kVectors = (24 + 5) * kParameters * 4;
  const std::string gpu = "device: cuda\n";
  const Workplace::Arguments apart = {"--plugin-path", "plugins"};

  const uint64_t here_host = predicted("", "peak_memory_bytes");
  CHECK(predicted("", "device_peak_memory_bytes") == 0);
  // The graphs, which are the model's, are on the GPU whatever the metric does.
  const uint64_t whole = predicted(gpu, "device_peak_memory_bytes");
  const uint64_t graphs = whole - kParameters * 4 - kVectors;
  CHECK(here_host == predicted(gpu, "peak_memory_bytes") + graphs);
  CHECK(graphs > 0);
  CHECK(graphs < kVectors);
  // A model that comes block by block has vectors in host memory, and two of six blocks.
  CHECK(predicted(gpu, "device_peak_memory_by_block_bytes") ==
        (kParameters - 4 * kLinears) * 4 + graphs);
  // So has a metric in a process of its own.
  CHECK(predicted(gpu, "device_peak_memory_bytes", apart) == kParameters * 4 + graphs);
  CHECK(predicted(gpu, "peak_memory_bytes", apart) == predicted(gpu, "peak_memory_bytes"));
}

TEST_CASE("plan: the memory of a calibrated pass is within 15 % of what it takes", "[cli][slow]") {
  quench::test::need_plugin("models/gpt_neox");
  quench::test::need_plugin("optimizers/sgd");
  quench::test::need_plugin("quantizers/gptq");
  const Workplace here;
  // 55 million parameters, so that the weights count beside the program, and few enough for a plan
  // to read a file that is a moment old.
  const std::string model =
      "{model_type: gpt_neox, hidden_size: 768, intermediate_size: 3072, num_hidden_layers: 6, "
      "num_attention_heads: 12, vocab_size: 8192, max_position_embeddings: 64, hidden_act: gelu, "
      "layer_norm_eps: 1e-5, rotary_pct: 0.25, rotary_emb_base: 10000, use_parallel_residual: "
      "true, attention_bias: true, tie_word_embeddings: false, initializer_range: 0.02}";
  const std::string loss = "validation_loss: {corpus: v, block: 64}";
  here.folder().write("m.yaml", manifest(loss, model));
  REQUIRE(here.run({"run", "m.yaml"}).code == 0);
  const std::string pass =
      "calibration: {c: {corpus: v, sequences: 8, length: 64, packing: concat}}\n"
      "quantizers: [{gptq: {bits: 4}, calibration: c}]\n";
  here.folder().write("p.yaml", manifest(loss, model) + pass);
  const auto predicted = [&](const std::string& file, const char* what) {
    const Outcome plan = here.run({"plan", file, "--json"});
    REQUIRE(plan.code == 0);
    return quench::test::data_of(plan.out).at("total").at(what).get<double>();
  };
  const double host = predicted("p.yaml", "peak_memory_bytes");
  CHECK(predicted("p.yaml", "device_peak_memory_bytes") == 0);
  const Outcome run = here.run({"run", "p.yaml"});
  REQUIRE(run.code == 0);
  double measured = 0;
  const Outcome results = here.run({"results", "runs/m", "--json"});
  const nlohmann::json records = quench::test::data_of(results.out).at("records");
  for (const nlohmann::json& record : records) {
    if (record.at("details").contains("peak_memory_bytes")) {
      measured = record.at("details").at("peak_memory_bytes").at("measured").get<double>();
    }
  }
  CHECK(host == Approx(measured).epsilon(0.15));

  here.folder().write("g.yaml", manifest(loss, model) + pass + "device: cuda\n");
  const double whole = predicted("g.yaml", "device_peak_memory_bytes");
  const double by_block = predicted("g.yaml", "device_peak_memory_by_block_bytes");
  CHECK(whole > 55e6 * 4);
  // Four of six blocks are away, and so are the float weights of all, which a large GPU keeps.
  CHECK(whole - by_block == Approx((4 + 6) * 4 * 12 * 768 * 768));
  CHECK_THAT(here.run({"plan", "g.yaml"}).out,
             Catch::Contains("on the GPU: about") && Catch::Contains("block by block"));
}
