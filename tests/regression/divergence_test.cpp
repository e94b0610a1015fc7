// How far quantized predictions are from the float model's, on a trained model.
#include <catch2/catch.hpp>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::test {

TEST_CASE("divergence: fewer bits move predictions further, layer by layer",
          "[regression][divergence]") {
  const auto model = fixture("trajectories/gpt_neox-traj/step1200");
  const auto text = ValidationText::make();
  const std::string metric = text.metric();  // validation_loss:text=...,block=...
  const std::string corpus = metric.substr(metric.find(':'));
  const nlohmann::json document = quench_json(
      {"eval", model.string(), "--metric", "divergence" + corpus, "--metric", metric, "--quantizer",
       "rtn:bits=3,group_size=64", "--quantizer", "rtn:bits=8,group_size=64"});
  const auto divergences = records_of(document, "divergence");
  const auto agreements = records_of(document, "divergence/top1_agreement");
  REQUIRE(divergences.size() == 2);  // and none of the float model from itself
  REQUIRE(agreements.size() == 2);
  const double three = divergences[0].at("value").get<double>();
  const double eight = divergences[1].at("value").get<double>();
  CHECK(eight > 0);
  CHECK(eight < 0.01 * three);
  CHECK(agreements[0].at("value").get<double>() < agreements[1].at("value").get<double>());
  CHECK(agreements[1].at("value").get<double>() > 0.98);
  const nlohmann::json& details = divergences[0].at("details");
  REQUIRE(details.at("residual_errors").size() == 2);
  CHECK(details.at("residual_errors")[0].get<double>() > 0.001);
  CHECK(details.at("weight_errors").size() == 8);  // linears of two blocks
  // The weights were put back: the loss after it is that of the quantized model.
  const nlohmann::json alone = quench_json(
      {"eval", model.string(), "--metric", metric, "--quantizer", "rtn:bits=3,group_size=64"});
  CHECK(records_of(document, "validation_loss")[1].at("value") ==
        records_of(alone, "validation_loss")[1].at("value"));
}

TEST_CASE("divergence: a quantizer that replaces operations is refused",
          "[regression][divergence]") {
  const auto model = fixture("trajectories/gpt_neox-traj/step1200");
  const auto text = ValidationText::make();
  const std::string metric = text.metric();
  const Finished ended =
      run_quench({"eval", model.string(), "--metric",
                  "divergence" + metric.substr(metric.find(':')), "--quantizer", "int8"});
  CHECK(ended.code == 1);
  CHECK_THAT(
      ended.err,
      Catch::Contains("metric divergence: compares weights, and the quantizer replaces linears"));
}

}  // namespace quench::test
