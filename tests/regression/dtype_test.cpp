// The same model in other dtypes.
#include <catch2/catch.hpp>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

// The float model's record of a run with these kernels.
nlohmann::json loss_record(const std::string& dtype, const std::string& isa) {
  const auto model = fixture("trajectories/gpt_neox-traj/step1200");
  const auto text = ValidationText::make();
  return run_manifest("dtype: " + dtype + "\ncheckpoints: {model: \"" + model.string() +
                          "\"}\nmetrics: [validation_loss: {corpus: v, block: 128}]\n" +
                          "corpora: {v: {text: {path: \"" + text.file().string() + "\"}}}\n",
                      {}, {{"QUENCH_ISA", isa}})
      .at("records")
      .at(0);
}

}  // namespace

TEST_CASE("eval: the dtype changes the loss by its rounding and no more", "[regression]") {
  const auto folder = fixture("trajectories/gpt_neox-traj/step1200");
  const auto text = ValidationText::make();
  const auto loss = [&](const std::string& dtype) {
    const nlohmann::json record =
        quench_json({"eval", folder.string(), "--metric", text.metric(), "--dtype", dtype})
            .at("records")
            .at(0);
    CHECK(record.at("environment").at("dtype") == dtype);
    return record.at("value").get<double>();
  };
  const double float32 = loss("float32");
  const double float64 = loss("float64");
  CHECK(float64 != float32);
  CHECK(relative(float64, float32) < 1e-6);
  const double bfloat16 = loss("bfloat16");
  CHECK(bfloat16 != float32);
  CHECK(relative(bfloat16, float32) < 2e-3);
  const double float16 = loss("float16");
  CHECK(float16 != float32);
  CHECK(relative(float16, float32) < 2e-3);
}

TEST_CASE(
    "run: bfloat16 in pairs moves the loss by less than the dtype does, and the record says so",
    "[regression]") {
  skip_unless(has_avx512_bf16(), "this processor has no AVX512-BF16");
  const nlohmann::json wide = loss_record("float32", "avx512");
  const nlohmann::json narrow = loss_record("bfloat16", "avx512");
  const nlohmann::json pairs = loss_record("bfloat16", "avx512_bf16");
  CHECK(pairs.at("environment").at("isa") == "avx512_bf16");
  CHECK(pairs.at("parts").at("environment").at("isa") == "avx512_bf16");
  CHECK(narrow.at("environment").at("isa") == "avx512");
  CHECK(pairs.at("key") != narrow.at("key"));
  CHECK(pairs.at("value") != narrow.at("value"));
  const double loss = pairs.at("value");
  CHECK(relative(loss, wide.at("value")) < 2e-3);
  CHECK(relative(loss, narrow.at("value")) < 5e-4);
  CHECK(loss_record("float32", "avx512_bf16").at("value") == wide.at("value"));
}

}  // namespace quench::test
