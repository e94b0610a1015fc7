#include "core/checkpoint/packed/quantization_config.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/checkpoint/checkpoint_folder.hpp"
#include "tests/core/checkpoint/packed/built_folder.hpp"
#include "tests/support/throws.hpp"

using nlohmann::json;

namespace quench::test {

namespace {

std::string fault_of(const json& config) {
  return message_of([&] { parse_quantization_config(config, "c"); });
}

json with(json config, const std::string& key, const json& value) {
  config[key] = value;
  return config;
}

}  // namespace

TEST_CASE("quantization config: methods and layouts that are not read are refused by name",
          "[core][checkpoint][packed]") {
  CHECK(fault_of({{"quant_method", "fp8"}}) ==
        "c: quant_method = fp8, read are gptq, awq, bitsandbytes and compressed-tensors");
  CHECK(fault_of(with(gptq_config(), "checkpoint_format", "marlin")) ==
        "c: checkpoint_format = marlin, read are gptq and gptq_v2");
  CHECK(fault_of(with(gptq_config(), "bits", 5)) == "c: bits = 5, read are 2, 3, 4 and 8");
  CHECK(fault_of(with(gptq_config(), "bits", 4.5)) == "c: bits: 4.5, expected an integer");
  CHECK(fault_of(with(gptq_config(), "group_size", 0)) ==
        "c: group_size = 0, wanted -1 or 1 to 16777216");
  CHECK(fault_of(with(gptq_config(), "pack_dtype", "int16")) ==
        "c: pack_dtype = int16, read is int32");
  CHECK(fault_of(with(gptq_config(), "sym", 1)) == "c: sym is number, wanted true or false");
  CHECK(fault_of({{"quant_method", "awq"}, {"bits", 4}, {"version", "gemv"}}) ==
        "c: version = gemv, read is gemm");
  CHECK(fault_of({{"quant_method", "awq"}, {"bits", 3}, {"version", "GEMM"}}) ==
        "c: bits = 3, the layout has 4");
  CHECK(fault_of({{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}}) ==
        "c: load_in_8bit is not set; of bitsandbytes' forms int8 is read");
  CHECK(fault_of({{"quant_method", "compressed-tensors"}, {"format", "float-quantized"}}) ==
        "c: format = float-quantized, read is pack-quantized");
  CHECK(fault_of({{"quant_method", "compressed-tensors"}}) == "c: no config_groups");
  CHECK(fault_of(json::array()) == "c: array, wanted an object");
  const json activations = {
      {"quant_method", "compressed-tensors"},
      {"config_groups",
       {{"g", {{"weights", {{"num_bits", 4}}}, {"input_activations", {{"num_bits", 8}}}}}}}};
  CHECK(fault_of(activations) ==
        "c: g: input_activations are quantized too, read are weights alone");
}

TEST_CASE("quantization config: every number of every method is checked by its key",
          "[core][checkpoint][packed]") {
  const auto group = [](const json& number, const char* key) {
    json weights = {{"num_bits", 4}, {"strategy", "group"}, {"group_size", 128}};
    weights[key] = number;
    return json{{"quant_method", "compressed-tensors"},
                {"config_groups", {{"g", {{"weights", weights}}}}}};
  };
  const json awq = {{"quant_method", "awq"}, {"bits", 4}, {"group_size", 128}};
  const json first_awq = {{"quant_method", "awq"}, {"w_bit", 4}, {"q_group_size", 128}};
  struct Number {
    std::string key;
    std::function<json(const json&)> config;
    bool may_be_minus_one;
  };
  const std::vector<Number> numbers = {
      {"bits", [](const json& n) { return with(gptq_config(), "bits", n); }, false},
      {"group_size", [](const json& n) { return with(gptq_config(), "group_size", n); }, true},
      {"bits", [&](const json& n) { return with(awq, "bits", n); }, false},
      {"group_size", [&](const json& n) { return with(awq, "group_size", n); }, true},
      {"bit", [&](const json& n) { return with(first_awq, "w_bit", n); }, false},
      {"q_group_size", [&](const json& n) { return with(first_awq, "q_group_size", n); }, true},
      {"num_bits", [&](const json& n) { return group(n, "num_bits"); }, false},
      {"group_size", [&](const json& n) { return group(n, "group_size"); }, true}};
  for (const Number& number : numbers) {
    CAPTURE(number.key, number.config(0).dump());
    CHECK(fault_of(number.config(number.key.ends_with("size") ? 128 : 4)).empty());
    CHECK(fault_of(number.config(-1)).empty() == number.may_be_minus_one);
    for (const json& wrong : {json(0), json(-2), json(INT64_MIN), json(INT64_MAX), json(UINT64_MAX),
                              json((1 << 24) + 1), json(0.5), json(1e300), json("4"), json(true),
                              json(json::array({4})), json(json::object())}) {
      CAPTURE(wrong.dump());
      CHECK_THAT(fault_of(number.config(wrong)),
                 Catch::StartsWith("c: ") && Catch::Contains(number.key) && !Catch::Contains("\n"));
    }
  }
}

TEST_CASE("quantization config: groups of compressed-tensors that differ are refused",
          "[core][checkpoint][packed]") {
  json config = {
      {"quant_method", "compressed-tensors"},
      {"config_groups",
       {{"a", {{"weights", {{"num_bits", 4}}}}}, {"b", {{"weights", {{"num_bits", 4}}}}}}}};
  CHECK(fault_of(config).empty());
  config["config_groups"]["b"]["weights"]["num_bits"] = 8;
  CHECK(fault_of(config) == "c: config_groups differ in their weights, read is one scheme");
}

TEST_CASE("quantization config: the writer's version tells how three-bit zeros were stored",
          "[core][checkpoint][packed]") {
  const auto how = [](const std::string& writer) {
    return parse_quantization_config(with(gptq_config(), "meta", {{"quantizer", {writer}}}), "c")
        .three_bit_zeros;
  };
  CHECK(how("gptqmodel:1.8.0") == ThreeBitZeros::kConstantsReversed);
  CHECK(how("gptqmodel:4.2.5") == ThreeBitZeros::kConstantsReversed);
  CHECK(how("gptqmodel:6.0.3") == ThreeBitZeros::kConstantsReversed);
  CHECK(how("gptqmodel:7.0.0") == ThreeBitZeros::kAsDocumented);
  CHECK(how("gptqmodel:10.1.0") == ThreeBitZeros::kAsDocumented);
  CHECK(how("other:1.0") == ThreeBitZeros::kAsDocumented);
}

TEST_CASE("quantization config: older folders keep it in a file of its own",
          "[core][checkpoint][packed]") {
  const TemporaryDir folder;
  folder.write("model.safetensors", packed_file(gptq_tensors()));
  folder.write("config.json", "{\"model_type\":\"x\"}");
  folder.write("quantize_config.json",
               R"({"bits":4,"group_size":128,"desc_act":false,"sym":true})");
  const CheckpointFolder checkpoint = open_checkpoint_folder(folder.path());
  REQUIRE(checkpoint.quantization);
  CHECK(describe(*checkpoint.quantization) == json{{"format", "gptq"},
                                                   {"bits", 4},
                                                   {"group_size", 128},
                                                   {"symmetric", true},
                                                   {"ordered", false},
                                                   {"writer", nullptr}});
  CHECK(checkpoint.source->find("m.weight"));
}

TEST_CASE("quantization config: a null one is none", "[core][checkpoint][packed]") {
  CHECK_FALSE(read_quantization_config(R"({"quantization_config":null})", "c"));
  CHECK_FALSE(read_quantization_config("", "c"));
}

}  // namespace quench::test
