// A quantizer that fails after it has changed the weights: its cell fails, the others' numbers
// stay.
#include <catch2/catch.hpp>

#include "tests/core/boundary/misbehaving.hpp"
#include "tests/support/answer.hpp"

using Catch::Contains;
using nlohmann::json;
using quench::test::MisbehavingRun;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

TEST_CASE("boundary: after a plan that fails, the next quantizer finds the float weights",
          "[boundary]") {
  const bool in_process = GENERATE(true, false);
  CAPTURE(in_process);
  const Workplace here(Page::kNone);
  here.folder().write("m.yaml",
                      "name: m\n"
                      "checkpoints: {model: tiny}\n"
                      "quantizers:\n"
                      "  - failing_plan\n"
                      "  - template_quantizer: {bits: 4}\n"
                      "metrics:\n"
                      "  - validation_loss: {corpus: v, block: 16}\n"
                      "corpora: {v: {text: {path: t.txt}}}\n");
  Workplace::Arguments words = {"run", "m.yaml", "--json", "--plugin-path",
                                quench::test::boundary_plugin("failing_plan")};
  if (in_process) {
    words.insert(words.end(), {"--in-process", "failing_plan"});
  }
  const Outcome got = here.run(words);
  INFO(got.err);
  CHECK(got.code == 1);
  const json records = quench::test::data_of(got.out).at("records");
  CHECK_THAT(MisbehavingRun::cell(records, "failing_plan").get<std::string>(),
             Contains("this plan fails"));
  CHECK(MisbehavingRun::cell(records, "template_quantizer") == quench::test::undisturbed_loss());
}
