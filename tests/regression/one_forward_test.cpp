// One forward per block and one Gram matrix per input group, counted by the host and, from outside,
// by a quantizer.
#include <catch2/catch.hpp>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::test {

TEST_CASE("eval: calibration is one forward per block and one pass per input group",
          "[regression]") {
  const auto model = fixture("trajectories/gpt_neox-traj/step1200");
  const auto calibration = fixture("quantization/calibration.safetensors");
  const auto text = ValidationText::make();
  constexpr uint64_t kTokens = 32 * 128;
  constexpr uint64_t kBlocks = 2;
  constexpr uint64_t kGroups = 4;  // of a block; a block has one stage more
  const nlohmann::json document = quench_json(
      {"eval", model.string(), "--metric", text.metric(), "--plugin-path", test_plugins().string(),
       "--calibration", "tokens=" + calibration.string(), "--quantizer", "counting", "--quantizer",
       "gptq:bits=3", "--quantizer", "rtn:bits=3"});
  const auto records = records_of(document, "validation_loss");
  REQUIRE(records.size() == 4);
  for (size_t i = 1; i < records.size(); ++i) {
    const nlohmann::json& pass = records[i].at("details").at("calibration");
    CHECK(pass.at("tokens") == kTokens);
    CHECK(pass.at("stage_tokens") == kTokens * (kGroups + 1) * kBlocks);
    CHECK(pass.at("observed_groups") == kGroups * kBlocks);
  }

  // What the counting quantizer saw: each group once, each with every calibration token once.
  const nlohmann::json& layers = records[1].at("details").at("layers");
  REQUIRE(layers.size() == kGroups * kBlocks);
  for (size_t i = 0; i < layers.size(); ++i) {
    INFO(layers[i].at("name"));
    CHECK(layers[i].at("block") == i / kGroups);
    CHECK(layers[i].at("group") == i % kGroups);
    CHECK(layers[i].at("rows") == kTokens);
    CHECK(layers[i].at("calls") == kTokens / 2048);  // micro-batches
    CHECK(layers[i].at("groups") == i + 1);
    CHECK(layers[i].at("linears") == i + 1);
    CHECK(layers[i].at("relative_error") == 0.0);  // the weights are as they were
  }
  CHECK(records[1].at("value") == records[0].at("value"));
  CHECK(records_of(document, "quantization_error").at(0).at("value") == 0.0);
}

TEST_CASE("run: a quantizer is made once, however many checkpoints and draws it quantizes",
          "[regression]") {
  const auto text = ValidationText::make();
  const std::string folder = fixture("trajectories/gpt_neox-traj").string();
  const std::string calibration = fixture("quantization/calibration.safetensors").string();
  const nlohmann::json document = run_manifest(
      "name: once\n"
      "checkpoints: {model: " +
          folder +
          ", revisions: [step600, step1200]}\n"
          "calibration: {c: {corpus: k, documents: 4}}\n"
          "quantizers:\n"
          "  - counting: {}\n"
          "    calibration: c\n"
          "    replicates: {draws: 2}\n"
          "metrics: [validation_loss: {corpus: v, block: 64}]\n"
          "corpora: {v: {text: {path: " +
          text.file().string() + "}}, k: {tokens: {path: " + calibration + "}}}\n",
      {"--plugin-path", test_plugins().string()});
  size_t passes = 0;
  for (const nlohmann::json& record : records_of(document, "validation_loss")) {
    if (!record.at("quantizer").is_null()) {
      ++passes;
      CHECK(record.at("details").at("layers").back().at("instances") == 1);
    }
  }
  CHECK(passes == 2 * 2);
}

}  // namespace quench::test
