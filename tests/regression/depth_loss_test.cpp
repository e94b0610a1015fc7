// The loss with the first blocks quantized, on a trained model of two blocks.
#include <catch2/catch.hpp>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::test {

TEST_CASE("depth_loss: from the float loss, block by block, to the quantized one",
          "[regression][depth_loss]") {
  const auto model = fixture("trajectories/gpt_neox-traj/step1200");
  const auto text = ValidationText::make();
  const std::string metric = text.metric();  // validation_loss:text=...,block=...
  const std::string depth = "depth_loss" + metric.substr(metric.find(':'));
  const std::string coarse = "rtn:bits=2,group_size=64";
  const nlohmann::json all =
      quench_json({"eval", model.string(), "--metric", depth, "--metric", metric, "--metric",
                   "divergence" + metric.substr(metric.find(':')), "--quantizer", coarse});
  const auto losses = records_of(all, "validation_loss");
  const auto found = records_of(all, "depth_loss");
  REQUIRE(losses.size() == 2);
  REQUIRE(found.size() == 1);  // and none of the float model
  const double floating = losses[0].at("value").get<double>();
  const double quantized = losses[1].at("value").get<double>();
  const nlohmann::json& details = found[0].at("details");
  CHECK(details.at("float").get<double>() == floating);
  REQUIRE(details.at("first").size() == 2);
  CHECK(details.at("first")[1].get<double>() == quantized);
  CHECK(found[0].at("value").get<double>() == quantized - floating);
  CHECK(found[0].at("direction") == 0);      // a change already: no float value is missed beside it
  CHECK_FALSE(details.contains("outside"));  // rtn leaves embedding and head as they are

  SECTION("the first block alone is what a quantizer of that block alone gives") {
    const nlohmann::json alone = quench_json({"eval", model.string(), "--metric", metric,
                                              "--quantizer", coarse + ",modules=*layers.1.* skip"});
    const double first = records_of(alone, "validation_loss")[1].at("value").get<double>();
    CHECK(first != quantized);
    CHECK(details.at("first")[0].get<double>() == first);
  }
  SECTION("the quantized weights are put back") {
    const nlohmann::json alone =
        quench_json({"eval", model.string(), "--metric", metric, "--quantizer", coarse});
    CHECK(records_of(alone, "validation_loss")[1].at("value") == losses[1].at("value"));
  }
}

}  // namespace quench::test
