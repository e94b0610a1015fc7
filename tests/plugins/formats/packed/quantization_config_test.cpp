#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/plugin/services/heard_warnings.hpp"
#include "formats/gptq_layout/gptq_config.hpp"
#include "tests/plugins/formats/messages.hpp"
#include "tests/plugins/formats/packed/built_folder.hpp"
#include "tests/run/built_catalog.hpp"

using nlohmann::json;

namespace quench::test {

namespace {

// What a format says of the config of a folder, "c: " for its place; nothing of the tensors, which
// are those of one method.
std::string config_fault(const json& config) {
  const BuiltFolder folder(gptq_tensors(), config);
  const std::string message = format_message_of(
      [&] { open_checkpoint_folder(built_catalog(), folder.path()); }, folder.path());
  const std::string where = "config.json: quantization_config: ";
  return message.starts_with(where) ? "c: " + message.substr(where.size()) : "";
}

// What the host says where no format takes the folder.
std::string refusal_of(const json& config) {
  const BuiltFolder folder(gptq_tensors(), config);
  return message_of([&] { open_checkpoint_folder(built_catalog(), folder.path()); });
}

json with(json config, const std::string& key, const json& value) {
  config[key] = value;
  return config;
}

}  // namespace

TEST_CASE("quantization config: methods and layouts that are not read are refused by name",
          "[formats][packed]") {
  CHECK_THAT(refusal_of({{"quant_method", nullptr}, {"bits", 4}}),
             Catch::EndsWith("quant_method is null, wanted a text"));
  CHECK_THAT(refusal_of({{"quant_method", "fp8"}}),
             Catch::Contains("quantized, in a way that no format reads") &&
                 Catch::Contains("awq, bnb_int8, compressed-tensors, dcp, gguf, gptq, gptq_v2"));
  CHECK_THAT(refusal_of(with(gptq_config(), "checkpoint_format", "marlin")),
             Catch::Contains("gptq: checkpoint_format = marlin, read are gptq and gptq_v2"));
  CHECK(config_fault(with(gptq_config(), "bits", 5)) == "c: bits = 5, read are 2, 3, 4 and 8");
  CHECK(config_fault(with(gptq_config(), "bits", 4.5)) == "c: bits: 4.5, wanted an integer");
  CHECK(config_fault(with(gptq_config(), "group_size", 0)) ==
        "c: group_size = 0, wanted -1 or 1 to 16777216");
  CHECK(config_fault(with(gptq_config(), "pack_dtype", "int16")) ==
        "c: pack_dtype = int16, read is int32");
  CHECK(config_fault(with(gptq_config(), "sym", 1)) == "c: sym is number, wanted true or false");
  CHECK(config_fault({{"quant_method", "awq"}, {"bits", 4}, {"version", "gemv"}}) ==
        "c: version = gemv, read is gemm");
  CHECK(config_fault({{"quant_method", "awq"}, {"bits", 3}, {"version", "GEMM"}}) ==
        "c: bits = 3, the layout has 4");
  CHECK(config_fault({{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}}) ==
        "c: load_in_8bit is not set; of bitsandbytes' forms int8 is read");
  CHECK(config_fault({{"quant_method", "compressed-tensors"}, {"format", "int-quantized"}}) ==
        "c: format = int-quantized, read are pack-quantized, nvfp4-pack-quantized, "
        "mxfp4-pack-quantized, mxfp6-pack-quantized, mxfp8-quantized, float-quantized, "
        "naive-quantized");
  CHECK(config_fault({{"quant_method", "compressed-tensors"}}) == "c: no config_groups");
  CHECK_THAT(refusal_of(json::array()),
             Catch::Contains("quantization_config: array, wanted an object"));
  const json activations = {
      {"quant_method", "compressed-tensors"},
      {"config_groups",
       {{"g", {{"weights", {{"num_bits", 4}}}, {"input_activations", {{"num_bits", 8}}}}}}}};
  CHECK(config_fault(activations) ==
        "c: g: input_activations are quantized too, read are weights alone");
}

TEST_CASE("quantization config: a member that nothing is known of is one warning",
          "[formats][packed]") {
  const auto told = [](const json& config) {
    const BuiltFolder folder(gptq_tensors(), config);
    const HeardWarnings heard(HeardWarnings::Fate::kByInner);
    CHECK_NOTHROW(open_checkpoint_folder(built_catalog(), folder.path()));
    std::string out;
    for (const std::string& line : heard.lines()) {
      const std::string where = (folder.path() / "config.json").string();
      out += line.starts_with(where) ? line.substr(where.size()) : line;
    }
    return out;
  };
  CHECK(told(gptq_config()).empty());
  CHECK(told(with(gptq_config(), "damp_percent", 0.01)).empty());
  CHECK(told(with(gptq_config(), "rotation", nullptr)).empty());
  json config = with(gptq_config(), "made_by", "someone");
  config["url"] = "x";
  CHECK(told(config) ==
        ": quantization_config: made_by, url: not known, taken to change no weights");
  CHECK(told(with(gptq_config(), "use_smooth", false)) ==
        ": quantization_config: use_smooth: not known, taken to change no weights");
}

TEST_CASE("quantization config: a member that speaks of weights and is not off is refused by name",
          "[formats][packed]") {
  const std::string why = ": not understood, and might change what weights are";
  for (const std::string key : {"rotation", "adapter", "is_marlin_format", "smooth_factor",
                                "zero_offset", "act_bits", "kv_cache_quant", "lut_size"}) {
    CHECK(config_fault(with(gptq_config(), key, "some")) == "c: " + key + why);
  }
  const json awq = {{"quant_method", "awq"}, {"bits", 4}, {"group_size", 128}};
  CHECK(config_fault(with(awq, "desc_act", true)) == "c: desc_act" + why);
  CHECK(config_fault(
            {{"quant_method", "bitsandbytes"}, {"load_in_8bit", true}, {"load_in_4bit", true}}) ==
        "c: load_in_4bit" + why);
  json compressed = {
      {"quant_method", "compressed-tensors"},
      {"config_groups", {{"g", {{"weights", {{"num_bits", 4}, {"dynamic", true}}}}}}}};
  CHECK(config_fault(compressed) == "c: config_groups.g.weights.dynamic" + why);
  compressed["config_groups"]["g"]["weights"]["dynamic"] = false;
  compressed["config_groups"]["g"]["scale_of_groups"] = 2;
  CHECK(config_fault(compressed) == "c: config_groups.g.scale_of_groups" + why);
}

TEST_CASE("quantization config: every number of every method is checked by its key",
          "[formats][packed]") {
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
    CHECK(config_fault(number.config(number.key.ends_with("size") ? 128 : 4)).empty());
    CHECK(config_fault(number.config(-1)).empty() == number.may_be_minus_one);
    for (const json& wrong : {json(0), json(-2), json(INT64_MIN), json(INT64_MAX), json(UINT64_MAX),
                              json((1 << 24) + 1), json(0.5), json(1e300), json("4"), json(true),
                              json(json::array({4})), json(json::object())}) {
      CAPTURE(wrong.dump());
      CHECK_THAT(config_fault(number.config(wrong)),
                 Catch::StartsWith("c: ") && Catch::Contains(number.key) && !Catch::Contains("\n"));
    }
  }
}

TEST_CASE("quantization config: groups of compressed-tensors that differ are refused",
          "[formats][packed]") {
  json config = {
      {"quant_method", "compressed-tensors"},
      {"config_groups",
       {{"a", {{"weights", {{"num_bits", 4}}}}}, {"b", {{"weights", {{"num_bits", 4}}}}}}}};
  CHECK(config_fault(config).empty());
  config["config_groups"]["b"]["weights"]["num_bits"] = 8;
  CHECK(config_fault(config) == "c: config_groups differ in their weights, read is one scheme");
}

TEST_CASE("quantization config: the writer's version tells how three-bit zeros were stored",
          "[formats][packed]") {
  const auto how = [](const std::string& writer) {
    const json config = with(gptq_config(), "meta", {{"quantizer", {writer}}});
    return formats::read_gptq_config(formats::ConfigReader(config, "c")).three_bit_zeros;
  };
  CHECK(how("gptqmodel:1.8.0") == formats::ThreeBitZeros::kConstantsReversed);
  CHECK(how("gptqmodel:4.2.5") == formats::ThreeBitZeros::kConstantsReversed);
  CHECK(how("gptqmodel:6.0.3") == formats::ThreeBitZeros::kConstantsReversed);
  CHECK(how("gptqmodel:7.0.0") == formats::ThreeBitZeros::kAsDocumented);
  CHECK(how("gptqmodel:10.1.0") == formats::ThreeBitZeros::kAsDocumented);
  CHECK(how("other:1.0") == formats::ThreeBitZeros::kAsDocumented);
}

TEST_CASE("quantization config: older folders keep it in a file of its own", "[formats][packed]") {
  const TemporaryDir folder;
  folder.write("model.safetensors", packed_file(gptq_tensors()));
  folder.write("config.json", "{\"model_type\":\"x\"}");
  folder.write("quantize_config.json",
               R"({"bits":4,"group_size":128,"desc_act":false,"sym":true})");
  const CheckpointFolder checkpoint = open_checkpoint_folder(built_catalog(), folder.path());
  CHECK(checkpoint.quantization == json{{"format", "gptq"},
                                        {"bits", 4},
                                        {"group_size", 128},
                                        {"symmetric", true},
                                        {"ordered", false},
                                        {"writer", nullptr}});
  CHECK(checkpoint.source->find("m.weight"));
}

TEST_CASE("quantization config: a null one is none", "[formats][packed]") {
  const TemporaryDir folder;
  folder.write("model.safetensors", packed_file({{"w", halves({1}, {kHalfOne})}}));
  folder.write("config.json", R"({"quantization_config":null})");
  CHECK(open_checkpoint_folder(built_catalog(), folder.path()).quantization.is_null());
}

}  // namespace quench::test
