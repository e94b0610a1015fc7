// The number of threads is no part of a result.
#include <catch2/catch.hpp>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::test {

namespace {

// What a record says of the model, without what it says of the run.
std::string result_of(nlohmann::json record) {
  record.erase("seconds");
  record.erase("environment");
  record.at("details").erase("quantize_seconds");
  record.at("details").erase("pass_seconds");
  record.at("details").erase("pass_cpu_seconds");
  record.at("details").erase("peak_memory_bytes");
  return record.dump(1);
}

}  // namespace

TEST_CASE("eval: one thread and two give the same bits", "[regression]") {
  const auto model = fixture("trajectories/gpt_neox-traj/step1200");
  const auto calibration = fixture("quantization/calibration.safetensors");
  const auto text = ValidationText::make();
  std::vector<nlohmann::json> documents;
  for (const char* threads : {"1", "2"}) {
    documents.push_back(quench_json(
        {"eval", model.string(), "--metric", text.metric(), "--calibration",
         "tokens=" + calibration.string(), "--quantizer", "rtn:bits=3,group_size=64", "--quantizer",
         "gptq:bits=3,group_size=64,precision=float32", "--quantizer",
         "gptq:bits=3,group_size=64,desc_act=true,precision=float64", "--threads", threads}));
    const nlohmann::json& records = documents.back().at("records");
    CHECK(records.at(0).at("environment").at("threads") == std::stoi(threads));
  }
  const nlohmann::json& one = documents[0].at("records");
  const nlohmann::json& two = documents[1].at("records");
  REQUIRE(one.size() == 7);  // float, and loss and error of three quantizers
  REQUIRE(two.size() == one.size());
  for (size_t i = 0; i < one.size(); ++i) {
    CHECK(result_of(one[i]) == result_of(two[i]));
  }
}

}  // namespace quench::test
