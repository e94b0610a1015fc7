// A mixture of experts through the stage protocol: every expert sees the rows that are routed to it
// and no other, and one that no row reaches says what was done instead.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors_writer.hpp"
#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/safetensors_reader.hpp"

namespace quench::test {

namespace {

constexpr int64_t kExperts = 8;
constexpr int64_t kPicks = 2;
constexpr int64_t kTokens = 48;
constexpr int64_t kWidth = 32;
constexpr size_t kBlocks = 2;

// The model "plain" of tests/data/olmoe_reference.py as a folder, and ids for it.
class ExpertModel {
 public:
  ExpertModel() : reference_(source_dir() / "tests/data/olmoe_reference.safetensors") {
    const auto notes = read_json(source_dir() / "tests/data/olmoe_reference.json");
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
    write_ids("all.safetensors", 2, 24);
    write_ids("few.safetensors", 1, 5);
  }

  std::string path() const { return folder_.path().string(); }
  // All ids of the reference, or too few for every expert to be reached.
  std::string ids(const std::string& which) const {
    return "tokens=" + (folder_ / (which + ".safetensors")).string();
  }
  const SafetensorsFile& reference() const { return reference_; }

  nlohmann::json eval(const std::string& calibration, const std::string& quantizer) const {
    return quench_json({"eval", path(), "--metric", "validation_loss:" + ids("all") + ",block=24",
                        "--plugin-path", test_plugins().string(), "--calibration", ids(calibration),
                        "--quantizer", quantizer});
  }

 private:
  std::vector<std::string> weights() const {
    std::vector<std::string> own;
    for (const std::string& name : reference_.names()) {
      if (name.starts_with("plain/") && name.ends_with(".weight")) {
        own.push_back(name.substr(6));
      }
    }
    return own;
  }
  void write_ids(const std::string& name, int64_t rows, int64_t length) const {
    const auto ids = reference_.elements<int32_t>("plain/ids");
    SafetensorsWriter writer(folder_ / name);
    writer.declare({"ids", kInt32, {rows, length}, 0});
    writer.write(ids.data(), static_cast<uint64_t>(rows * length) * sizeof(int32_t));
    writer.finish();
  }

  TemporaryDir folder_;
  SafetensorsFile reference_;
};

// Rows of each expert of a block, and the sum of their elements, as the reference routes.
struct Routed {
  std::vector<double> rows = std::vector<double>(kExperts);
  std::vector<double> sums = std::vector<double>(kExperts);
};
Routed routed(const SafetensorsFile& reference, size_t block) {
  const auto picks = reference.elements<int32_t>("plain/experts." + std::to_string(block));
  const auto inputs = reference.elements<double>("plain/inputs." + std::to_string(block));
  Routed found;
  for (size_t i = 0; i < picks.size(); ++i) {
    const auto expert = static_cast<size_t>(picks[i]);
    const auto token = static_cast<int64_t>(i) / kPicks;
    ++found.rows[expert];
    for (int64_t c = 0; c < kWidth; ++c) {
      found.sums[expert] += inputs[static_cast<size_t>(token * kWidth + c)];
    }
  }
  return found;
}

const nlohmann::json& layers_of(const nlohmann::json& document) {
  static nlohmann::json record;
  record = records_of(document, "validation_loss").at(1);
  return record.at("details").at("layers");
}

}  // namespace

TEST_CASE("experts: rotated inputs leave the loss, in every expert", "[regression][rotations]") {
  const ExpertModel model;
  const auto records =
      records_of(model.eval("all", "activations:activations=float,rotate=all"), "validation_loss");
  const double float_loss = records.at(0).at("value");
  const double loss = records.at(1).at("value");
  CHECK(std::fabs(loss - float_loss) < 1e-5);
  CHECK(loss != float_loss);
  for (const nlohmann::json& layer : records.at(1).at("details").at("layers")) {
    CHECK(layer.at("rotation").get<std::string>().starts_with("Hadamard "));
  }
}

TEST_CASE("experts: each group is shown the rows routed to its expert, once", "[regression]") {
  const ExpertModel model;
  const nlohmann::json document = model.eval("all", "counting");
  const nlohmann::json& layers = layers_of(document);
  constexpr size_t kLinears = 4 + 3 * kExperts;
  REQUIRE(layers.size() == kBlocks * kLinears);
  for (size_t block = 0; block < kBlocks; ++block) {
    const Routed wanted = routed(model.reference(), block);
    for (size_t expert = 0; expert < kExperts; ++expert) {
      INFO("block " << block << ", expert " << expert);
      const nlohmann::json& gate = layers.at(block * kLinears + 4 + 2 * expert);
      const nlohmann::json& down = layers.at(block * kLinears + 4 + 2 * kExperts + expert);
      CHECK(gate.at("group") == 2 + expert);
      CHECK(gate.at("rows") == wanted.rows[expert]);
      CHECK(gate.at("tokens") == wanted.rows[expert]);
      CHECK(gate.at("sum").get<double>() == Approx(wanted.sums[expert]).margin(1e-3));
      CHECK(down.at("group") == 2 + kExperts + expert);
      CHECK(down.at("rows") == wanted.rows[expert]);
    }
    CHECK(layers.at(block * kLinears).at("rows") == kTokens);  // q: every token
    CHECK_FALSE(layers.at(block * kLinears).contains("tokens"));
  }
}

TEST_CASE("experts: rtn and gptq quantize them, gptq the closer one", "[regression]") {
  const ExpertModel model;
  std::vector<double> errors;
  for (const char* quantizer : {"rtn:bits=3,group_size=-1", "gptq:bits=3,group_size=-1"}) {
    const nlohmann::json document = model.eval("all", quantizer);
    double sum = 0;
    for (const nlohmann::json& layer : layers_of(document)) {
      INFO(layer.at("name"));
      CHECK_FALSE(layer.contains("fallback"));
      CHECK(layer.at("relative_error") > 0);
      sum += layer.at("relative_error").get<double>();
    }
    errors.push_back(sum);
    const nlohmann::json pass =
        records_of(document, "validation_loss").at(1).at("details").at("calibration");
    CHECK(pass.at("experts").at("groups") == kBlocks * 2 * kExperts);
    CHECK(pass.at("experts").at("without_rows") == 0);
    CHECK(records_of(document, "quantization_error").size() == 1);
  }
  CHECK(errors[1] < 0.7 * errors[0]);
}

TEST_CASE("experts: one without rows says so, and what was done instead", "[regression]") {
  const ExpertModel model;
  const nlohmann::json document = model.eval("few", "gptq:bits=3,group_size=-1");
  const nlohmann::json rounded = model.eval("few", "rtn:bits=3,group_size=-1");
  const nlohmann::json& layers = layers_of(document);
  size_t unreached = 0;
  for (const nlohmann::json& layer : layers) {
    INFO(layer.dump());
    const bool expert = layer.at("name").get<std::string>().find(".experts.") != std::string::npos;
    REQUIRE(layer.contains("tokens") == expert);
    if (!expert) {
      continue;
    }
    const bool none = layer.at("tokens") == 0;
    CHECK(layer.contains("fallback") == none);
    CHECK(layer.contains("warning") != none);  // 5 tokens are fewer than there are columns
    CHECK(layer.at("relative_error").is_null() == none);
    unreached += none ? 1 : 0;
  }
  CHECK(unreached > 0);
  const nlohmann::json pass =
      records_of(document, "validation_loss").at(1).at("details").at("calibration");
  CHECK(pass.at("experts").at("without_rows").get<size_t>() * 3 == unreached * 2);
  CHECK(pass.at("experts").at("fewer_rows_than_columns") == kBlocks * 2 * kExperts);
  CHECK(pass.at("observed_groups").get<size_t>() ==
        kBlocks * (2 + 2 * kExperts) - pass.at("experts").at("without_rows").get<size_t>());
  for (const nlohmann::json& layer : layers_of(rounded)) {  // needs no rows: nothing fell back
    CHECK_FALSE(layer.contains("fallback"));
    CHECK(layer.at("relative_error").is_null() == (layer.value("tokens", 1) == 0));
  }
}

TEST_CASE("experts: thin calibration is told on stderr", "[regression]") {
  const ExpertModel model;
  const Finished finished =
      run_quench({"eval", model.path(), "--json", "--metric",
                  "validation_loss:" + model.ids("all") + ",block=24", "--calibration",
                  model.ids("few"), "--quantizer", "gptq:bits=3,group_size=-1"});
  CHECK(finished.code == 0);
  CHECK_THAT(finished.err,
             Catch::Contains("of 32 groups of experts, 32 were reached by fewer calibration rows"));
}

}  // namespace quench::test
