// The number of threads is no part of a result, whatever kernels compute it.
#include <catch2/catch.hpp>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/test_host.hpp"

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

// The forms of the kernels that this processor has, as QUENCH_ISA names them.
std::vector<std::string> forms() {
  const std::vector<std::string> names = {"portable", "avx2", "avx512"};
  return {names.begin(),
          names.begin() + static_cast<std::ptrdiff_t>(available_instructions().size())};
}

}  // namespace

TEST_CASE("eval: one thread and two give the same bits", "[regression]") {
  const auto model = fixture("trajectories/gpt_neox-traj/step1200");
  const auto calibration = fixture("quantization/calibration.safetensors");
  const auto text = ValidationText::make();
  const std::string form = GENERATE(from_range(forms()));
  CAPTURE(form);
  std::vector<nlohmann::json> documents;
  for (const char* threads : {"1", "2"}) {
    documents.push_back(quench_json(
        {"eval", model.string(), "--metric", text.metric(), "--calibration",
         "tokens=" + calibration.string(), "--quantizer", "rtn:bits=3,group_size=64", "--quantizer",
         "gptq:bits=3,group_size=64,precision=float32", "--quantizer",
         "gptq:bits=3,group_size=64,desc_act=true,precision=float64", "--threads", threads},
        {{"QUENCH_ISA", form}}));
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

// float32, so that the model's products, attention and their derivatives are those of training.
TEST_CASE("eval: gradients are the same bits for one thread and two in every form",
          "[regression]") {
  const auto model = fixture("models/gpt_neox-small");
  const auto folder = fixture("hessian/gpt_neox-small");
  const std::string form = GENERATE(from_range(forms()));
  CAPTURE(form);
  std::vector<nlohmann::json> details;
  for (const char* threads : {"1", "2"}) {
    details.push_back(
        records_of(quench_json({"eval", model.string(), "--metric",
                                "hessian:tokens=" + (folder / "reference.safetensors").string() +
                                    ",top=1,trace_samples=2,seed=1,dtype=float32",
                                "--threads", threads},
                               {{"QUENCH_ISA", form}}),
                   "hessian")
            .at(0)
            .at("details"));
  }
  for (const char* name : {"eigenvalues", "residuals", "trace", "loss"}) {
    CAPTURE(name);
    CHECK(details[0].at(name) == details[1].at(name));
  }
}

}  // namespace quench::test
