// Rounded keys and values on trained fixture models of every family.
#include <cmath>

#include "tests/regression/short_text.hpp"

namespace quench::test::cache {

// Heads of 16 come back to the bit: the rotation is computed in float64, and its factor is 1/4.
TEST_CASE("cache: keys and values that are rotated and not rounded leave every family's loss",
          "[regression][cache]") {
  const ShortText text;
  for (const auto& [dtype, bound] :
       std::map<std::string, double>{{"float64", 1e-12}, {"float32", 1e-5}}) {
    const auto records = text.run(kFixtureFamilies,
                                  "  - activations: {activations: float, cache_rotate: both}\n"
                                  "    label: turned\n",
                                  dtype);
    for (const std::string& model : kFixtureFamilies) {
      CAPTURE(model, dtype);
      const double float_loss = loss_of(records.at(model + "/float"));
      const double loss = loss_of(records.at(model + "/turned"));
      CHECK(std::fabs(loss - float_loss) < bound);
    }
  }
}

TEST_CASE("cache: fewer bits cost more in every family, and the record has the bits of a number",
          "[regression][cache]") {
  const ShortText text;
  std::string quantizers;
  for (const std::string bits : {"2", "4", "8"}) {
    quantizers += "  - activations: {activations: float, cache: int" + bits +
                  ", cache_group_size: 16}\n    label: int" + bits + "\n";
  }
  quantizers +=
      "  - activations: {activations: float, cache: int2, cache_keys: channel, cache_group_size: "
      "16}\n    label: by channel\n";
  const auto records = text.run(kFixtureFamilies, quantizers);
  for (const std::string& model : kFixtureFamilies) {
    CAPTURE(model);
    const double float_loss = loss_of(records.at(model + "/float"));
    const auto added = [&](const char* label) {
      return loss_of(records.at(model + "/" + label)) - float_loss;
    };
    CAPTURE(added("int2"), added("int4"), added("int8"), added("by channel"));
    CHECK(added("int2") > std::fabs(added("int4")));  // 4 bits may cost less than the noise
    CHECK(std::fabs(added("int8")) < 1e-3);
    CHECK(added("by channel") != added("int2"));
    size_t blocks = 0;
    for (const nlohmann::json& layer : records.at(model + "/int4").at("details").at("layers")) {
      CHECK(layer.at("bits_per_weight") == 16);  // keys and values are not counted
      if (layer.contains("cache_bits")) {
        ++blocks;
        CHECK(layer.at("cache_bits") == 4 + 32.0 / 16);
        CHECK(layer.at("cache") == "int4");
      }
    }
    CHECK(blocks == read_json(fixture("models/" + model) / "config.json").at("num_hidden_layers"));
  }
}

TEST_CASE("cache: it goes with rounded weights, and gptq's later linears see it",
          "[regression][cache]") {
  const ShortText text;
  const std::string weights = "bits: 4, group_size: 32";
  const std::string cache = ", cache: int3, cache_group_size: 16, cache_rotate: keys}\n";
  const auto records = text.run(
      {"llama"}, "  - rtn: {" + weights + "}\n    label: rtn\n" + "  - rtn: {" + weights + cache +
                     "    label: rtn and cache\n" + "  - gptq: {" + weights + "}\n" +
                     "    label: gptq\n    calibration: text\n" + "  - gptq: {" + weights + cache +
                     "    label: gptq and cache\n    calibration: text\n" +
                     "  - gptq: {inputs: block, " + weights + cache +
                     "    label: gptq block and cache\n    calibration: text\n" +
                     "  - awq: {inputs: sequential, " + weights + cache +
                     "    label: awq and cache\n    calibration: text\n");
  const auto loss = [&](const char* label) {
    return loss_of(records.at(std::string("llama/") + label));
  };
  CHECK(loss("rtn and cache") > loss("rtn"));
  CHECK(loss("gptq and cache") > loss("gptq"));
  CHECK(loss("gptq and cache") < loss("rtn and cache"));
  CHECK(loss("gptq block and cache") > loss("gptq"));
  CHECK(loss("awq and cache") > loss("gptq"));
  // o_proj reads what attention makes of rounded values, so its statistics differ; q_proj's do not.
  const auto error_of = [&](const char* label, const std::string& module) {
    for (const nlohmann::json& layer :
         records.at(std::string("llama/") + label).at("details").at("layers")) {
      if (layer.at("name").get<std::string>().ends_with("layers.0.self_attn." + module)) {
        return layer.at("relative_error").get<double>();
      }
    }
    return std::nan("");
  };
  CHECK(error_of("gptq", "q_proj") == error_of("gptq and cache", "q_proj"));
  CHECK(error_of("gptq", "o_proj") != error_of("gptq and cache", "o_proj"));
}

TEST_CASE("cache: groups that do not divide a head fail their cell alone, in one line",
          "[regression][cache]") {
  const ShortText text;
  const auto records = text.run({"llama"},
                                "  - rtn: {bits: 8, cache: int4}\n    label: groups of 32\n"
                                "  - rtn: {bits: 8, cache: int4, cache_group_size: 16}\n"
                                "    label: groups of 16\n");
  const std::string said = records.at("llama/groups of 32").at("error");
  CHECK(said.find('\n') == std::string::npos);
  CHECK_THAT(said,
             Catch::Contains("block 0: keys: cache_group_size = 32 does not divide the 16 numbers "
                             "of a head"));
  CHECK(loss_of(records.at("llama/groups of 16")) > 0);
}

TEST_CASE("cache: cache_tiny is planned without a problem", "[regression][cache]") {
  const TemporaryDir folder;
  const nlohmann::json plan =
      quench_json({"plan", (source_dir() / "configs/experiments/cache_tiny.yaml").string(), "--out",
                   (folder / "run").string()});
  CHECK(plan.dump().find("cache_tiny") != std::string::npos);
}

}  // namespace quench::test::cache
