// A state-space model through the stage protocol: the quantizer of each linear sees what the
// reference's linear reads, in one forward.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <map>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors_writer.hpp"
#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/safetensors_reader.hpp"

namespace quench::test {

namespace {

constexpr size_t kStateSpaceBlocks = 2;
constexpr size_t kTokensGiven = 48;

// The model "plain" of tests/data/mamba_reference.py as a folder, and its ids.
class StateSpaceModel {
 public:
  StateSpaceModel() : reference_(source_dir() / "tests/data/mamba_reference.safetensors") {
    const auto notes = read_json(source_dir() / "tests/data/mamba_reference.json");
    std::ofstream(folder_ / "config.json") << notes.at("plain").at("config").dump();
    SafetensorsWriter writer(folder_ / "model.safetensors");
    for (const std::string& name : weights()) {
      writer.declare({name, kFloat16, reference_.shape("plain/" + name), 0});
    }
    for (const std::string& name : weights()) {
      const auto values = reference_.elements<uint16_t>("plain/" + name);
      writer.write(values.data(), values.size() * sizeof(uint16_t));
    }
    writer.finish();
    const auto ids = reference_.elements<int32_t>("plain/ids");
    SafetensorsWriter tokens(folder_ / "ids.safetensors");
    tokens.declare({"ids", kInt32, {2, 24}, 0});
    tokens.write(ids.data(), ids.size() * sizeof(int32_t));
    tokens.finish();
  }

  const SafetensorsFile& reference() const { return reference_; }

  nlohmann::json eval(const std::string& quantizer, const std::string& dtype = "float32") const {
    return quench_json(words(quantizer, dtype));
  }
  std::vector<std::string> words(const std::string& quantizer, const std::string& dtype) const {
    const std::string ids = "tokens=" + (folder_ / "ids.safetensors").string();
    return {"eval",          folder_.path().string(),
            "--metric",      "validation_loss:" + ids + ",block=24",
            "--plugin-path", test_plugins().string(),
            "--calibration", ids,
            "--quantizer",   quantizer,
            "--dtype",       dtype};
  }

 private:
  std::vector<std::string> weights() const {
    std::vector<std::string> own;
    for (const std::string& name : reference_.names()) {
      if (name.starts_with("plain/backbone.")) {
        own.push_back(name.substr(6));
      }
    }
    return own;
  }

  TemporaryDir folder_;
  SafetensorsFile reference_;
};

// Of the quantized variant; record 0 is the float model's.
nlohmann::json details_of(const nlohmann::json& document) {
  return records_of(document, "validation_loss").at(1).at("details");
}

double sum_of(const SafetensorsFile& reference, const std::string& name) {
  double sum = 0;
  for (const float value : reference.elements<float>(name)) {
    sum += static_cast<double>(value);
  }
  return sum;
}

}  // namespace

TEST_CASE("state space: the float loss is the reference's", "[regression]") {
  const StateSpaceModel model;
  double wanted = 0;
  for (const double nll : model.reference().elements<double>("plain/nll")) {
    wanted += nll / 46;
  }
  const nlohmann::json document = model.eval("counting");
  CHECK(records_of(document, "validation_loss").at(0).at("value").get<double>() ==
        Approx(wanted).epsilon(2e-6));
}

TEST_CASE("state space: each group is shown what the reference's linear reads, in one forward",
          "[regression]") {
  const StateSpaceModel model;
  const nlohmann::json details = details_of(model.eval("counting"));
  const nlohmann::json& layers = details.at("layers");
  const std::vector<std::string> linears = {"in_proj", "x_proj", "dt_proj", "out_proj"};
  REQUIRE(layers.size() == kStateSpaceBlocks * linears.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string block = std::to_string(i / linears.size());
    const std::string& linear = linears[i % linears.size()];
    INFO("block " << block << ", " << linear);
    CHECK(layers.at(i).at("name") == "backbone.layers." + block + ".mixer." + linear);
    CHECK(layers.at(i).at("group") == i % linears.size());
    CHECK(layers.at(i).at("rows") == kTokensGiven);
    CHECK(layers.at(i).at("sum").get<double>() ==
          Approx(sum_of(model.reference(), "plain/inputs." + block + "." + linear)).margin(2e-3));
  }
  const nlohmann::json& pass = details.at("calibration");
  CHECK(pass.at("stage_tokens") == kTokensGiven * kStateSpaceBlocks * 5);
  CHECK(pass.at("observed_groups") == kStateSpaceBlocks * 4);
}

TEST_CASE("state space: rotated inputs leave the loss", "[regression][rotations]") {
  const StateSpaceModel model;
  for (const auto& [dtype, bound] :
       std::map<std::string, double>{{"float64", 1e-12}, {"float32", 1e-5}}) {
    CAPTURE(dtype);
    const auto records = records_of(model.eval("activations:activations=float,rotate=all", dtype),
                                    "validation_loss");
    const double float_loss = records.at(0).at("value");
    const double loss = records.at(1).at("value");
    CHECK(std::fabs(loss - float_loss) < bound);
    if (dtype == "float32") {  // float64's rounding may vanish in the mean over tokens
      CHECK(loss != float_loss);
    }
    CHECK(records.at(1).at("details").at("layers").at(2).at("rotation") == "Hadamard 2");  // dt
  }
}

TEST_CASE("state space: there are no keys and values to round", "[regression][cache]") {
  const StateSpaceModel model;
  const Finished finished = run_quench(model.words("rtn:bits=8,cache=int4", "float32"));
  CHECK(finished.code == 1);
  CHECK_THAT(finished.out, Catch::Contains("block 0 keeps no keys and values of earlier tokens"));
}

TEST_CASE("state space: rtn and gptq quantize every linear, gptq the closer one", "[regression]") {
  const StateSpaceModel model;
  std::vector<double> errors;
  for (const char* quantizer : {"rtn:bits=3,group_size=-1", "gptq:bits=3,group_size=-1"}) {
    const nlohmann::json document = model.eval(quantizer);
    const nlohmann::json details = details_of(document);
    REQUIRE(details.at("layers").size() == kStateSpaceBlocks * 4);
    double sum = 0;
    for (const nlohmann::json& layer : details.at("layers")) {
      INFO(layer.at("name"));
      CHECK(layer.at("relative_error") > 0);
      sum += layer.at("relative_error").get<double>();
    }
    errors.push_back(sum);
    CHECK(records_of(document, "quantization_error").size() == 1);
  }
  CHECK(errors[1] < 0.9 * errors[0]);
}

}  // namespace quench::test
