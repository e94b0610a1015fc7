// `quench logits` against logits that the reference library computed.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/regression/program.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/safetensors_reader.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

TEST_CASE("logits: what is written is what the reference computes", "[regression]") {
  const std::string name = GENERATE("llama", "gpt_neox-small", "olmo2", "apertus");
  CAPTURE(name);
  const auto folder = fixture("models/" + name);
  const SafetensorsFile reference(folder / "reference.safetensors");
  const std::vector<int32_t> ids = reference.elements<int32_t>("input_ids");
  const std::vector<float> wanted = reference.elements<float>("logits");
  const auto length = static_cast<size_t>(reference.shape("input_ids").at(1));
  const TemporaryDir made;
  const std::string file = (made / "logits.safetensors").string();
  for (size_t row = 0; row * length < ids.size(); ++row) {
    std::string text;
    for (size_t t = 0; t < length; ++t) {
      text += (t == 0 ? "" : ",") + std::to_string(ids[row * length + t]);
    }
    const auto data = quench_json({"logits", folder.string(), "--ids", text, "-o", file});
    CHECK(data.at("shape").at(0) == length);
    const std::vector<float> got = SafetensorsFile(file).elements<float>("logits");
    REQUIRE(got.size() == wanted.size() / (ids.size() / length));
    double worst = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      worst = std::max(worst, std::fabs(double{got[i]} - wanted[row * got.size() + i]));
    }
    constexpr double kRounding = 2e-5;  // of two forwards in float32
    CHECK(worst < kRounding);
  }
}

}  // namespace quench::test
