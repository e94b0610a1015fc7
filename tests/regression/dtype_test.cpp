// The same model in other dtypes.
#include <catch2/catch.hpp>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::test {

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

}  // namespace quench::test
