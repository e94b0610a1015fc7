#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>

#include "core/plugin/services/heard_warnings.hpp"
#include "tests/plugins/formats/messages.hpp"
#include "tests/plugins/formats/packed/built_folder.hpp"
#include "tests/run/built_catalog.hpp"

namespace quench::test {

namespace {

std::vector<float> weight_of(const BuiltTensors& tensors, const nlohmann::json& config) {
  const BuiltFolder folder(tensors, config);
  const CheckpointFolder checkpoint = open_checkpoint_folder(built_catalog(), folder.path());
  return read_float32(*checkpoint.source, checkpoint.source->index_of("m.weight"));
}

// What opening and reading says, without the path.
std::string fault_of(const BuiltTensors& tensors, const nlohmann::json& config) {
  const BuiltFolder folder(tensors, config);
  const std::string message = format_message_of(
      [&] {
        const CheckpointFolder checkpoint = open_checkpoint_folder(built_catalog(), folder.path());
        read_float32(*checkpoint.source, checkpoint.source->index_of("m.weight"));
      },
      folder.path());
  const std::string where = folder.path().string() + ": ";
  return message.starts_with(where) ? message.substr(where.size()) : message;
}

std::string fault_with(const std::string& name, const BuiltTensor& tensor) {
  BuiltTensors tensors = gptq_tensors();
  tensors[name] = tensor;
  return fault_of(tensors, gptq_config());
}

nlohmann::json compressed_config() {
  return {
      {"quant_method", "compressed-tensors"},
      {"format", "pack-quantized"},
      {"config_groups",
       {{"group_0",
         {{"targets", {"Linear"}},
          {"weights",
           {{"num_bits", 4}, {"type", "int"}, {"strategy", "channel"}, {"symmetric", false}}}}}}}};
}

}  // namespace

TEST_CASE("packed weights: a linear of hand-made words has the values worked out by hand",
          "[formats][packed]") {
  CHECK(weight_of(gptq_tensors(), gptq_config()) == std::vector<float>(64, 1.0F));
  nlohmann::json second = gptq_config();
  second["checkpoint_format"] = "gptq_v2";
  CHECK(weight_of(gptq_tensors(), second) == std::vector<float>(64, 1.0F));
  second["sym"] = false;  // the zeros are then 7 themselves
  CHECK(weight_of(gptq_tensors(), second) == std::vector<float>(64, 2.0F));
}

TEST_CASE(
    "packed weights: a symmetric GPTQ file has the zero of its grid, whatever its version's name",
    "[formats][packed]") {
  for (const int64_t bits : {2, 4, 8}) {
    const auto of = [&](uint32_t code) {  // a word of equal codes
      uint32_t word = 0;
      for (int64_t at = 0; at < 32; at += bits) {
        word |= code << at;
      }
      return word;
    };
    const uint32_t middle = 1U << (bits - 1);
    const auto rows = static_cast<size_t>(32 / bits);  // outputs: one word of zeros
    const auto with = [&](uint32_t zero, const char* format) {
      nlohmann::json config = gptq_config();
      config["bits"] = bits;
      config["group_size"] = -1;
      config["checkpoint_format"] = format;
      const int64_t out = 32 / bits;
      const BuiltTensors tensors = {
          {"m.qweight", words({bits, out}, std::vector<uint32_t>(bits * rows, of(middle + 1)))},
          {"m.qzeros", words({1, 1}, {of(zero)})},
          {"m.scales", halves({1, out}, std::vector<uint16_t>(rows, kHalfOne))},
          {"m.g_idx", words({32}, std::vector<uint32_t>(32, 0))}};
      return std::pair(tensors, config);
    };
    for (const char* format : {"gptq", "gptq_v2"}) {
      INFO(bits << " bits, " << format);
      for (const uint32_t stored : {middle, middle - 1}) {
        const auto [tensors, config] = with(stored, format);
        CHECK(weight_of(tensors, config) == std::vector<float>(32 * rows, 1.0F));
      }
      const auto [tensors, config] = with(0, format);
      CHECK_THAT(fault_of(tensors, config),
                 Catch::Contains("do not decode to " + std::to_string(middle)));
    }
  }
}

TEST_CASE("packed weights: families see a config of float weights", "[formats][packed]") {
  const BuiltFolder folder(gptq_tensors(), gptq_config());
  CHECK(open_checkpoint_folder(built_catalog(), folder.path()).config_json == "{}");
  CHECK(stored_quantization(built_catalog(), folder.path()).at("bits") == 4);
}

TEST_CASE("packed weights: a zero point of 0 in GPTQ v1 is read where its writer borrowed",
          "[formats][packed]") {
  // Zeros 0, 8, 8, ... less 0x11111111: the lowest field borrows from its neighbour.
  BuiltTensors tensors = gptq_tensors();
  tensors["m.qzeros"] = words({1, 1}, {0x88888880U - 0x11111111U});
  nlohmann::json config = gptq_config();
  config["sym"] = false;
  const std::vector<float> weight = weight_of(tensors, config);
  CHECK(weight[0] == 9.0F);  // row 0
  CHECK(weight[8] == 1.0F);  // row 1
}

TEST_CASE("packed weights: zero points of compressed-tensors run along the output",
          "[formats][packed]") {
  const int64_t shape[] = {3, 2};
  const BuiltTensors tensors = {
      {"m.weight_packed", words({3, 1}, {0x21U, 0x43U, 0x65U})},
      {"m.weight_scale", halves({3, 1}, {kHalfOne, kHalfOne, kHalfOne})},
      {"m.weight_shape", {"I64", {2}, std::string(reinterpret_cast<const char*>(shape), 16)}},
      {"m.weight_zero_point", words({1, 1}, {0x321U})}};
  CHECK(weight_of(tensors, compressed_config()) == std::vector<float>{0, 1, 1, 2, 2, 3});
}

TEST_CASE("packed weights: int8 zero points of early compressed-tensors count from the middle",
          "[formats][packed]") {
  const int64_t shape[] = {3, 4};
  BuiltTensors tensors = {
      {"m.weight_packed", words({3, 1}, {0x6789U, 0x6789U, 0x6789U})},
      {"m.weight_scale", halves({3, 2}, std::vector<uint16_t>(6, kHalfOne))},
      {"m.weight_shape", {"I64", {2}, std::string(reinterpret_cast<const char*>(shape), 16)}},
      {"m.weight_zero_point", {"I8", {3, 2}, std::string("\0\1\xff\2\7\xf8", 6)}}};
  nlohmann::json config = compressed_config();
  nlohmann::json& weights = config["config_groups"]["group_0"]["weights"];
  weights["strategy"] = "group";
  weights["group_size"] = 2;
  // Codes 9 8 7 6 less the middle 8 and the zero of each pair: 0 1, -1 2, 7 -8.
  CHECK(weight_of(tensors, config) == std::vector<float>{1, 0, -2, -3, 2, 1, -3, -4, -6, -7, 7, 6});
  weights["symmetric"] = true;
  CHECK(fault_of(tensors, config) ==
        "linear 'm': weight_zero_point holds 1, wanted 0: the config says symmetric");
  tensors["m.weight_zero_point"].bytes = std::string(6, '\0');
  CHECK(weight_of(tensors, config) == std::vector<float>{1, 0, -1, -2, 1, 0, -1, -2, 1, 0, -1, -2});
  weights["symmetric"] = false;
  tensors["m.weight_zero_point"].bytes = std::string("\0\0\0\0\0\x08", 6);
  CHECK(fault_of(tensors, config) == "linear 'm': weight_zero_point holds 8, wanted -8 to 7");
  tensors["m.weight_zero_point"] = {"I8", {3, 1}, std::string(3, '\0')};
  CHECK(fault_of(tensors, config) ==
        "linear 'm': weight_zero_point is I8 [3, 1], wanted I8 [3, 2]");
}

TEST_CASE("packed weights: parts that are missing, stray or misshapen are refused by name",
          "[formats][packed]") {
  const std::string start = "linear 'm': ";
  BuiltTensors tensors = gptq_tensors();
  tensors.erase("m.qzeros");
  CHECK(fault_of(tensors, gptq_config()) ==
        start + "has bias, g_idx, qweight, scales, and no qzeros");
  tensors = gptq_tensors();
  tensors.erase("m.qweight");
  CHECK(fault_of(tensors, gptq_config()) == "tensor 'm.g_idx' is there without 'm.qweight'");
  tensors = {{"m.bias", halves({8}, std::vector<uint16_t>(8, 0))}};
  CHECK(fault_of(tensors, gptq_config()) ==
        "config.json says gptq, and no tensor ends in .qweight");
  CHECK(fault_with("m.scales", halves({2, 4}, std::vector<uint16_t>(8, 0))) ==
        start + "scales is F16 [2, 4], wanted a floating-point type, [2, 8]");
  CHECK(fault_with("m.qzeros", words({1, 2}, {0, 0})) ==
        start + "qzeros is I32 [1, 2], wanted I32 [1, 1]");
  CHECK(fault_with("m.qweight", {"F32", {1, 8}, std::string(32, '\0')}) ==
        start + "qweight is F32 [1, 8], wanted I32 of two dimensions");
  CHECK(fault_with("m.qweight", words({0, 8}, {})) ==
        start + "qweight is I32 [0, 8], wanted sides of 1 to 16777216");
  CHECK(fault_with("m.g_idx", words({8}, {0, 0, 0, 0, 0, 0, 0, 1})) ==
        start + "g_idx[7] is 1, there are 1 groups");
  CHECK(fault_with("m.g_idx", words({8}, {0xFFFFFFFFU, 0, 0, 0, 0, 0, 0, 0})) ==
        start + "g_idx[0] is -1, there are 1 groups");
  CHECK(fault_with("m.weight", halves({1}, {0})) == "tensor 'm.weight': name given twice");
}

TEST_CASE("packed weights: a group size that the shapes contradict is refused, also beside g_idx",
          "[formats][packed]") {
  nlohmann::json config = gptq_config();
  config["group_size"] = 4;
  const std::string fault = "linear 'm': scales is F16 [1, 8], wanted 2 groups of 4 columns";
  CHECK(fault_of(gptq_tensors(), config) == fault);
  config["dynamic"] = {{"+:n", {{"group_size", 128}}}};  // modules then have sizes of their own
  CHECK(fault_of(gptq_tensors(), config).empty());
  config["dynamic"] = nlohmann::json::object();
  CHECK(fault_of(gptq_tensors(), config) == fault);
  for (const int64_t size : {-1, 8, 128}) {
    config["group_size"] = size;
    CHECK(fault_of(gptq_tensors(), config).empty());
  }
}

TEST_CASE(
    "packed weights: a g_idx that is not in order decides, also without desc_act, and is told",
    "[formats][packed]") {
  // Two groups of four columns, of scales 1 and 2; every code is one above the zero.
  BuiltTensors tensors = gptq_tensors();
  tensors["m.qzeros"] = words({2, 1}, {0x77777777U, 0x77777777U});
  std::vector<uint16_t> scales(16, kHalfOne);
  std::fill(scales.begin() + 8, scales.end(), uint16_t{0x4000});  // 2
  tensors["m.scales"] = halves({2, 8}, scales);
  nlohmann::json config = gptq_config();
  config["group_size"] = 4;
  const auto with_order = [&](const std::vector<uint32_t>& groups, bool desc_act) {
    tensors["m.g_idx"] = words({8}, groups);
    config["desc_act"] = desc_act;
    const HeardWarnings heard(HeardWarnings::Fate::kByInner);
    std::vector<float> row = weight_of(tensors, config);
    row.resize(8);
    return std::pair(row, heard.lines());
  };
  const std::vector<float> in_order = {1, 1, 1, 1, 2, 2, 2, 2};
  const std::vector<float> mixed = {2, 1, 2, 1, 1, 2, 1, 2};
  CHECK(with_order({0, 0, 0, 0, 1, 1, 1, 1}, false) ==
        std::pair(in_order, std::vector<std::string>()));
  CHECK(with_order({1, 0, 1, 0, 0, 1, 0, 1}, true) == std::pair(mixed, std::vector<std::string>()));
  const auto [row, warnings] = with_order({1, 0, 1, 0, 0, 1, 0, 1}, false);
  CHECK(row == mixed);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("the stored groups of 1 weights are not (m.weight)"));
}

TEST_CASE("packed weights: a missing g_idx is refused only where the order is stored",
          "[formats][packed]") {
  BuiltTensors tensors = gptq_tensors();
  tensors.erase("m.g_idx");
  nlohmann::json config = gptq_config();
  CHECK(fault_of(tensors, config).empty());
  config["desc_act"] = true;
  CHECK(fault_of(tensors, config).find("no g_idx") != std::string::npos);
}

TEST_CASE("packed weights: sizes that a file claims are bounded before anything is allocated",
          "[formats][packed]") {
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  BuiltTensors tensors = {
      {"m.weight_packed", words({1, 1}, {0})},
      {"m.weight_scale", halves({1, 1}, {0})},
      {"m.weight_shape", {"I64", {2}, std::string(reinterpret_cast<const char*>(huge), 16)}}};
  CHECK(fault_of(tensors, compressed_config()) ==
        "linear 'm': weight_shape is [1099511627776, 1099511627776], wanted "
        "sides of 1 to 16777216");
}

TEST_CASE("packed weights: int8 in another layout than rows is refused", "[formats][packed]") {
  const nlohmann::json config = {{"quant_method", "bitsandbytes"}, {"load_in_8bit", true}};
  BuiltTensors tensors = {{"m.weight", {"I8", {1, 2}, std::string("\x7F\x81", 2)}},
                          {"m.SCB", {"F32", {1}, bytes_of(std::vector<float>{127.0F})}},
                          {"m.weight_format", {"U8", {}, std::string(1, '\1')}}};
  CHECK(fault_of(tensors, config) == "linear 'm': weight_format = 1, read is 0 (rows)");
  tensors.erase("m.weight_format");
  const std::vector<float> weight = weight_of(tensors, config);
  CHECK(weight[0] == Approx(127.0F));
  CHECK(weight[1] == -weight[0]);
  tensors.erase("m.SCB");
  CHECK(fault_of(tensors, config).find("no tensor ends in .SCB") != std::string::npos);
}

}  // namespace quench::test
