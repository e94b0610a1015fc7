// The split of the residual stream's error on a trained model of two blocks, against numpy in
// float64 and against runs in which one block alone is quantized.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::test {

namespace {

constexpr const char* kCoarse = "rtn:bits=3,group_size=64,sym=false";

// Numbers of a list in the details; null becomes NaN.
std::vector<double> list(const nlohmann::json& details, const char* name) {
  std::vector<double> out;
  for (const nlohmann::json& value : details.at(name)) {
    out.push_back(value.is_null() ? std::nan("") : value.get<double>());
  }
  return out;
}

void near(const std::vector<double>& got, const std::vector<double>& wanted, double tolerance) {
  REQUIRE(got.size() == wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i, got[i], wanted[i]);
    CHECK(std::abs(got[i] - wanted[i]) <= tolerance * std::abs(wanted[i]));
  }
}

}  // namespace

TEST_CASE("error_decomposition: its numbers are those of numpy in float64",
          "[regression][error_decomposition]") {
  const auto model = fixture("trajectories/gpt_neox-traj/step1200");
  const auto ids = fixture("quantization/calibration.safetensors");
  const nlohmann::json document = quench_json(
      {"eval", model.string(), "--metric",
       "error_decomposition:tokens=" + ids.string() + ",block=128", "--quantizer", kCoarse});
  const auto records = records_of(document, "error_decomposition");
  REQUIRE(records.size() == 1);  // and none of the float model
  const nlohmann::json& details = records[0].at("details");
  // tests/data/error_decomposition_reference.py
  constexpr double kClose = 1e-4;  // streams are float32, errors a tenth of them
  CHECK(details.at("blocks") == 32);
  CHECK(details.at("positions") == 4096);
  CHECK(details.at("embedding") == 0);
  near(list(details, "relative_error"), {0.011525993015455545, 0.017626298230902858}, kClose);
  near(list(details, "accumulated"), {0, 0.008913596760555816}, kClose);
  near(list(details, "new"), {0.011525993015455545, 0.008865241326794207}, kClose);
  CHECK(list(details, "interaction")[1] == Approx(-0.00015253985644716363).margin(2e-7));
  CHECK(details.at("gain")[0].is_null());
  CHECK(list(details, "gain")[1] == Approx(1.1887854127222828).epsilon(kClose));
  near(list(details, "activation_kurtosis"), {1.3195620637865364, 3.3429897689599866}, kClose);
  CHECK(records[0].at("value").get<double>() == Approx(0.017626298230902858).epsilon(kClose));
  CHECK(records[0].at("stderr").get<double>() == Approx(0.00016871536812105838).epsilon(1e-3));
  const nlohmann::json& weights = details.at("weight_kurtosis");
  CHECK(weights.size() == 8);
  const std::string first = "gpt_neox.layers.0.";
  CHECK(weights.at(first + "attention.query_key_value.weight").get<double>() ==
        Approx(2.084308644378323).epsilon(1e-9));
  CHECK(weights.at(first + "mlp.dense_h_to_4h.weight").get<double>() ==
        Approx(0.021380241139498324).epsilon(1e-8));
}

TEST_CASE("error_decomposition: its parts are the errors of runs with one block quantized",
          "[regression][error_decomposition]") {
  const auto model = fixture("trajectories/gpt_neox-traj/step1200");
  const auto text = ValidationText::make();
  const std::string metric = text.metric();  // validation_loss:text=...,block=...
  const std::string corpus = metric.substr(metric.find(':'));
  const auto measured = [&](const std::string& quantizer) {
    return quench_json({"eval", model.string(), "--metric", "error_decomposition" + corpus,
                        "--metric", "divergence" + corpus, "--metric", metric, "--quantizer",
                        quantizer});
  };
  const nlohmann::json both = measured(kCoarse);
  const nlohmann::json first = measured(std::string(kCoarse) + ",modules=*layers.1.* skip");
  const nlohmann::json split = records_of(both, "error_decomposition")[0].at("details");
  const auto squares = [](const nlohmann::json& document) {
    std::vector<double> out =
        list(records_of(document, "divergence")[0].at("details"), "residual_errors");
    for (double& value : out) {
      value *= value;
    }
    return out;
  };
  near(list(split, "relative_error"), squares(both), 1e-12);
  // The second block left float makes of the first one's error what is accumulated there.
  CHECK(list(split, "accumulated")[1] == Approx(squares(first)[1]).epsilon(1e-12));
  const nlohmann::json alone = records_of(first, "error_decomposition")[0].at("details");
  CHECK(list(alone, "new")[1] == 0);
  CHECK(list(alone, "interaction")[1] == 0);
  CHECK(list(alone, "gain")[1] == list(split, "gain")[1]);
  for (size_t layer = 0; layer < 2; ++layer) {
    CHECK(list(split, "accumulated")[layer] + list(split, "new")[layer] +
              list(split, "interaction")[layer] ==
          Approx(list(split, "relative_error")[layer]).epsilon(1e-10));
  }
  // The quantized weights are put back: the loss after it is that without it.
  const nlohmann::json plain =
      quench_json({"eval", model.string(), "--metric", metric, "--quantizer", kCoarse});
  CHECK(records_of(both, "validation_loss")[1].at("value") ==
        records_of(plain, "validation_loss")[1].at("value"));
}

}  // namespace quench::test
