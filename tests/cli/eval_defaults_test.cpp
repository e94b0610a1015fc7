// What `quench eval MODEL` does without being told what to measure.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

TEST_CASE("eval: a model alone is measured on the shipped text, float and by two methods",
          "[cli][torch]") {
  quench::test::need_plugin("quantizers/gptq");
  quench::test::need_plugin("quantizers/rtn");
  const Workplace here{Page::kNone};
  const Outcome got = here.run({"eval", "tiny"});
  CAPTURE(got.err);
  CHECK(got.code == 0);
  CHECK_THAT(got.out,
             StartsWith("text: Moby Dick, which may be in the model's training data; "
                        "--metric and --calibration name others\nexpected time: ") &&
                 Contains("\ntiny        float        -") &&
                 Contains("\ntiny        rtn bits=3 ") && Contains("\ntiny        rtn bits=4 ") &&
                 Contains("\ntiny        gptq bits=3 ") && Contains("\ntiny        gptq bits=4 "));
  // With a quantizer of the user's, the text is still the shipped one.
  const Outcome one = here.run({"eval", "tiny", "--quantizer", "rtn:bits=5", "--json"});
  CHECK(one.code == 0);
  const auto answer = quench::test::answer_of(one.out);
  CHECK_THAT(answer.at("warnings").at(0).get<std::string>(), StartsWith("text: Moby Dick"));
  CHECK(answer.at("data").at("records").size() == 3);  // float, quantized, and their error
}

TEST_CASE("eval: with a metric of the user's nothing is added", "[cli]") {
  const Workplace here{Page::kNone};
  const Outcome got = here.run({"eval", "tiny", "--metric", "validation_loss:text=t.txt,block=16"});
  CHECK(got.code == 0);
  CHECK_THAT(got.out, StartsWith("checkpoint ") && !Contains("rtn"));
}

TEST_CASE("eval: a default that is given is in the method's name", "[cli]") {
  const Workplace here{Page::kNone};
  const Outcome got =
      here.run({"eval", "tiny", "--metric", "validation_loss:text=t.txt,block=16", "--quantizer",
                "template_quantizer:bits=4", "--quantizer", "template_quantizer"});
  CHECK(got.code == 0);
  CHECK_THAT(got.out, Contains(" template_quantizer bits=4 ") && Contains(" template_quantizer  "));
}
