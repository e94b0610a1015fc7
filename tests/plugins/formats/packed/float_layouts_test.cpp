// Floats of 4 to 8 bits in the layouts of compressed-tensors, against files that the package made
// (tests/data/compressed_tensors_reference.py).
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "quench/kit/scalar.hpp"
#include "shared/number_formats/number_format.hpp"
#include "tests/plugins/formats/messages.hpp"
#include "tests/plugins/formats/packed/built_folder.hpp"
#include "tests/plugins/formats/packed/written_folder.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/safetensors_reader.hpp"

namespace quench::test {

namespace {

constexpr const char* kFormat = "compressed-tensors";

std::filesystem::path reference(const std::string& name) {
  return source_dir() / "tests/data/compressed_tensors" / name;
}

// Bits, so that -0 is no 0.
std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> out(values.size());
  std::memcpy(out.data(), values.data(), values.size() * sizeof(float));
  return out;
}

// "a", "cut", ... of a file with a.weight, cut.weight, ...
std::vector<std::string> linears_of(const SafetensorsFile& file) {
  constexpr std::string_view kEnding = ".weight";
  std::vector<std::string> out;
  for (const std::string& name : file.names()) {
    if (name.ends_with(kEnding)) {
      out.push_back(name.substr(0, name.size() - kEnding.size()));
    }
  }
  return out;
}

// What a quench_codebook_linear points to.
struct MadeLookup {
  std::string name = "m";
  int64_t out = 0;
  int64_t in = 0;
  std::vector<uint8_t> codes;
  std::vector<double> table;
  std::vector<double> scales;
  bool powers = false;
  int64_t block = 0;
  int64_t tables = 1;

  quench_codebook_linear view() const {
    quench_codebook_linear linear{};
    linear.struct_size = sizeof linear;
    linear.scale_type = powers ? QUENCH_SCALES_POWERS_OF_TWO : QUENCH_SCALES_FLOAT;
    linear.name = name.c_str();
    linear.out = out;
    linear.in = in;
    linear.tables = tables;
    linear.entries = static_cast<int64_t>(table.size()) / tables;
    linear.blocks = static_cast<int64_t>(scales.size());
    linear.block = block;
    linear.indices = codes.data();
    linear.table = table.data();
    linear.scales = scales.data();
    return linear;
  }
  std::vector<float> store(Written& written) const { return written.store(view(), codes.size()); }
};

// As quantizers give it: 0 for the codes that stand for no number.
std::vector<double> table_of(const std::string& number_format) {
  const auto& format = *number_formats::find_number_format(number_format);
  const auto elements = number_formats::elements_of(format);
  std::vector<double> out(elements.begin(), elements.begin() + format.entries());
  std::replace_if(
      out.begin(), out.end(), [](double element) { return !std::isfinite(element); }, 0.0);
  return out;
}

MadeLookup lookup_of(const SafetensorsFile& file, const std::string& linear,
                     const std::string& number_format) {
  MadeLookup made;
  made.name = linear;
  made.out = file.shape(linear + ".codes").at(0);
  made.in = file.shape(linear + ".codes").at(1);
  made.codes = file.elements<uint8_t>(linear + ".codes");
  made.table = table_of(number_format);
  made.scales = file.elements<double>(linear + ".scales");
  made.powers = number_format.starts_with("mx");
  made.block = made.out * made.in / static_cast<int64_t>(made.scales.size());
  return made;
}

// 2 rows of 32 weights that count through the codes of a format, all scales 1.
MadeLookup counting(const std::string& number_format, int64_t block) {
  MadeLookup made;
  made.out = 2;
  made.in = 32;
  made.table = table_of(number_format);
  made.powers = number_format.starts_with("mx");
  made.block = block;
  for (size_t i = 0; i < 64; ++i) {
    made.codes.push_back(static_cast<uint8_t>(i % made.table.size()));
  }
  made.scales.assign(static_cast<size_t>(64 / block), 1.0);
  return made;
}

std::string fault_of(const MadeLookup& linear) {
  return format_message_of([&] {
    Written written(kFormat);
    linear.store(written);
  });
}

// A config of one group.
nlohmann::json config_of(const std::string& layout, const nlohmann::json& weights) {
  return {{"quant_method", kFormat},
          {"format", layout},
          {"config_groups", {{"g", {{"targets", {"Linear"}}, {"weights", weights}}}}}};
}
nlohmann::json nvfp4_config() {
  return config_of(
      "nvfp4-pack-quantized",
      {{"num_bits", 4}, {"type", "float"}, {"strategy", "tensor_group"}, {"group_size", 16}});
}
nlohmann::json mx_config(const std::string& layout, int64_t bits) {
  return config_of(
      layout, {{"num_bits", bits}, {"type", "float"}, {"strategy", "group"}, {"group_size", 32}});
}
nlohmann::json fp8_config(const nlohmann::json& more) {
  nlohmann::json weights = {{"num_bits", 8}, {"type", "float"}};
  weights.update(more);
  return config_of("float-quantized", weights);
}

BuiltTensor bytes(const char* dtype, std::vector<int64_t> shape, std::string values) {
  return {dtype, std::move(shape), std::move(values)};
}
BuiltTensor float_tensor(std::vector<int64_t> shape, const std::vector<float>& values) {
  return {"F32", std::move(shape), bytes_of(values)};
}

// One row of 16 weights: 0.5 and -6 in turn, 0x38 in E4M3 is 1, over 4.
BuiltTensors nvfp4_tensors() {
  return {{"m.weight_packed", bytes("U8", {1, 8}, std::string(8, '\xF1'))},
          {"m.weight_scale", bytes("F8_E4M3", {1, 1}, "\x38")},
          {"m.weight_global_scale", float_tensor({1}, {4})}};
}
BuiltTensors fp8_tensors() {
  return {{"m.weight", bytes("F8_E4M3", {2, 3}, "\x38\x39\x3A\xB8\x01\x7E")},
          {"m.weight_scale", float_tensor({2, 1}, {1, 0.5F})}};
}

std::vector<float> read_weight(const BuiltTensors& tensors, const nlohmann::json& config) {
  const BuiltFolder folder(tensors, config);
  const CheckpointFolder checkpoint = open_checkpoint_folder(built_catalog(), folder.path());
  return read_float32(*checkpoint.source, checkpoint.source->index_of("m.weight"));
}

std::string reading_fault(const BuiltTensors& tensors, const nlohmann::json& config) {
  const BuiltFolder folder(tensors, config);
  const std::string message = format_message_of(
      [&] {
        const CheckpointFolder checkpoint = open_checkpoint_folder(built_catalog(), folder.path());
        read_float32(*checkpoint.source, checkpoint.source->index_of("m.weight"));
      },
      folder.path());
  const std::string where = folder.path().string() + ": ";
  const std::string in_config = "config.json: quantization_config: ";
  return message.starts_with(where)       ? message.substr(where.size())
         : message.starts_with(in_config) ? "c: " + message.substr(in_config.size())
                                          : message;
}

std::string fault_with(BuiltTensors tensors, const std::string& name, const BuiltTensor& tensor,
                       const nlohmann::json& config) {
  tensors[name] = tensor;
  return reading_fault(tensors, config);
}

}  // namespace

TEST_CASE("float layouts: what the package compressed is read to its bits",
          "[formats][packed][compressed-tensors]") {
  const auto [name, layout, bits, group_size] =
      GENERATE(table<std::string, std::string, int64_t, int64_t>({
          {"nvfp4", "nvfp4-pack-quantized", 4, 16},
          {"mxfp4", "mxfp4-pack-quantized", 4, 32},
          {"mxfp6", "mxfp6-pack-quantized", 6, 32},
          {"mxfp8", "mxfp8-quantized", 8, 32},
          {"fp8_tensor", "float-quantized", 8, -1},
          {"fp8_channel", "float-quantized", 8, -1},
          {"fp8_group", "float-quantized", 8, 8},
          {"fp8_block", "float-quantized", 8, 16},
          {"fp8_bfloat16", "naive-quantized", 8, -1},
      }));
  CAPTURE(name);
  const CheckpointFolder checkpoint = open_checkpoint_folder(built_catalog(), reference(name));
  const SafetensorsFile wanted(reference(name + ".safetensors"));
  CHECK(checkpoint.quantization == nlohmann::json{{"format", kFormat},
                                                  {"layout", layout},
                                                  {"bits", bits},
                                                  {"group_size", group_size},
                                                  {"symmetric", true},
                                                  {"ordered", false},
                                                  {"writer", kFormat}});
  CHECK(checkpoint.source->find("other.bias"));
  const std::vector<std::string> linears = linears_of(wanted);
  CHECK(checkpoint.source->count() == linears.size() + 1);
  for (const std::string& linear : linears) {
    CAPTURE(linear);
    const uint64_t index = checkpoint.source->index_of(linear + ".weight");
    CHECK(checkpoint.source->info(index).shape == wanted.shape(linear + ".weight"));
    const std::vector<float> weight = read_float32(*checkpoint.source, index);
    CHECK(differences(bits_of(weight), bits_of(wanted.elements<float>(linear + ".weight"))) == "");
    // What the package's own decompressor gives is that, in the type of its choice.
    if (name.starts_with("fp8") && name != "fp8_bfloat16") {
      CHECK(differences(bits_of(weight),
                        bits_of(wanted.elements<float>(linear + ".decompressed"))) == "");
      continue;
    }
    std::vector<uint16_t> rounded;
    for (const float value : weight) {
      rounded.push_back(kit::to_bfloat(value));
    }
    CHECK(differences(rounded, wanted.elements<uint16_t>(linear + ".decompressed")) == "");
  }
}

TEST_CASE("float layouts: what is written is what the package writes, byte for byte",
          "[formats][packed][compressed-tensors]") {
  const auto [name, number_format] = GENERATE(table<std::string, std::string>({
      {"nvfp4", "nvfp4"},
      {"mxfp4", "mxfp4"},
      {"mxfp6", "mxfp6_e2m3"},
      {"mxfp8", "mxfp8_e4m3"},
      {"fp8_tensor", "fp8_e4m3"},
      {"fp8_channel", "fp8_e4m3"},
      {"fp8_group", "fp8_e4m3"},
  }));
  CAPTURE(name);
  const SafetensorsFile of(reference(name + ".safetensors"));
  const SafetensorsSource file(reference(name) / "model.safetensors");
  Written written(kFormat);
  for (const std::string& linear : linears_of(of)) {
    CAPTURE(linear);
    const std::vector<float> weight = lookup_of(of, linear, number_format).store(written);
    CHECK(differences(bits_of(weight), bits_of(of.elements<float>(linear + ".weight"))) == "");
  }
  CHECK(written.tensors().size() + 1 == file.count());  // and other.bias
  for (const auto& [tensor, stored] : written.tensors()) {
    CAPTURE(tensor);
    const std::optional<uint64_t> index = file.find(tensor);
    REQUIRE(index);
    CHECK(dtype_name(stored.dtype) == dtype_name(file.info(*index).dtype));
    REQUIRE(stored.shape == file.info(*index).shape);
    std::vector<std::byte> held(stored.bytes.size());
    file.read(*index, 0, *element_count(stored.shape), held.data());
    CHECK(held == stored.bytes);
  }
  const nlohmann::json config = written.finish().config.at("quantization_config");
  const nlohmann::json wanted =
      nlohmann::json::parse(read_file(reference(name) / "config.json")).at("quantization_config");
  for (const char* key : {"format", "quant_method", "quantization_status", "ignore"}) {
    CHECK(config.at(key) == wanted.at(key));
  }
  CHECK(config.at("config_groups").at("group_0") == wanted.at("config_groups").at("group_0"));
}

TEST_CASE("float layouts: linears are read back with the bits that were promised",
          "[formats][packed][compressed-tensors]") {
  const auto [number_format, block, layout] = GENERATE(table<std::string, int64_t, std::string>({
      {"nvfp4", 16, "nvfp4-pack-quantized"},
      {"mxfp4", 32, "mxfp4-pack-quantized"},
      {"mxfp6_e2m3", 32, "mxfp6-pack-quantized"},
      {"mxfp8_e4m3", 32, "mxfp8-quantized"},
      {"fp8_e4m3", 8, "float-quantized"},
      {"fp8_e4m3", 32, "float-quantized"},
      {"fp8_e4m3", 64, "float-quantized"},
  }));
  CAPTURE(number_format, block);
  MadeLookup made = counting(number_format, block);
  for (size_t i = 0; i < made.scales.size(); ++i) {
    made.scales[i] = made.powers ? std::ldexp(1.0, static_cast<int>(i % 3)) : 0.375 * (1 + i % 2);
  }
  Written written(kFormat);
  const std::vector<float> stored = made.store(written);
  for (size_t i = 0; i < stored.size(); ++i) {  // these scales change in no layout
    CHECK(stored[i] == made.scales[i / block] * made.table[made.codes[i]]);
  }
  CHECK(written.scales().at("rounded_scales") == 0);
  CHECK(written.scales().at("scales") == made.scales.size());
  const TemporaryDir folder;
  const nlohmann::json scheme = written.write(folder);
  CHECK(scheme.at("layout") == layout);
  const CheckpointFolder checkpoint = open_checkpoint_folder(built_catalog(), folder.path());
  CHECK(checkpoint.quantization.at("layout") == layout);
  CHECK(checkpoint.quantization.at("group_size") == scheme.at("group_size"));
  const uint64_t index = checkpoint.source->index_of("m.weight");
  CHECK(bits_of(read_float32(*checkpoint.source, index)) == bits_of(stored));
  std::vector<float> piece(37);  // no multiple of a row or a block
  checkpoint.source->read(index, 5, piece.size(), piece.data());
  CHECK(bits_of(piece) == bits_of({stored.begin() + 5, stored.begin() + 42}));
}

TEST_CASE("float layouts: scales of nvfp4 are taken apart, also where none is the largest",
          "[formats][packed][compressed-tensors]") {
  // A tensor's scale of 24 bits, under which the largest block's has one of the lower codes.
  const auto tensor = static_cast<double>(1.2345678e-3F);
  for (const int largest : {448, 320, 104, 1}) {
    MadeLookup made = counting("nvfp4", 16);
    made.scales = {largest * tensor, 0.5 * tensor, 0.001953125 * tensor, 0.875 * tensor};
    Written written(kFormat);
    const std::vector<float> stored = made.store(written);
    const double change = written.scales().at("largest_scale_change").get<double>();
    CHECK(change <= std::ldexp(1.0, -23));  // a rounding of 1 / tensor and one of the quotient
    const auto held = [&](const char* name) { return written.tensors().at(name).bytes; };
    float global = 0;
    std::memcpy(&global, held("m.weight_global_scale").data(), sizeof global);
    const auto byte = static_cast<uint8_t>(held("m.weight_scale").at(0));
    const double code = number_formats::decode(number_formats::kE4M3, byte);
    CHECK(code / global == Approx(largest * tensor).epsilon(1e-6));
    CHECK(stored[1] == 0.5F * (static_cast<float>(code) / global));
  }
  MadeLookup made = counting("nvfp4", 16);
  made.scales = {1, 1, 1, 1.1};
  CHECK(fault_of(made) ==
        "m: its scales are no float32 of the weight times numbers of E4M3, as nvfp4 has them");
  made.scales = {0, 0, 0, 0};
  CHECK_THAT(fault_of(made), Catch::StartsWith("m: its scales are no float32"));
  made.scales = {1e-42, 1e-42, 1e-42, 1e-42};
  CHECK_THAT(fault_of(made), Catch::StartsWith("m: "));
  made.scales.assign(4, std::ldexp(1.0, -149) * 0.001953125);  // those of a weight of zeros
  CHECK_THAT(fault_of(made), Catch::Contains("is beyond float32"));
  std::fill(made.codes.begin(), made.codes.end(), uint8_t{8});  // -0
  Written zeros(kFormat);
  CHECK(bits_of(made.store(zeros)) == std::vector<uint32_t>(64, 0x80000000U));
  CHECK(zeros.scales().at("rounded_scales") == 0);
}

TEST_CASE("float layouts: what no layout holds is refused in one line",
          "[formats][packed][compressed-tensors]") {
  const auto refused = [](const std::string& what) {
    return "m: " + what +
           "; compressed-tensors holds integers, nvfp4, mxfp4, mxfp6_e2m3, mxfp8_e4m3 and "
           "fp8_e4m3";
  };
  CHECK(fault_of(counting("ternary", 32)) ==
        refused("a table of 3 values, scales for blocks of 32"));
  CHECK(fault_of(counting("binary", 32)) ==
        refused("a table of 2 values, scales for blocks of 32"));
  CHECK(fault_of(counting("nvfp4", 32)) ==
        refused("a table of 16 values, scales for blocks of 32"));
  CHECK(fault_of(counting("mxfp4", 16)) ==
        refused("a table of 16 values, powers of two for blocks of 16"));
  CHECK(fault_of(counting("mxfp6_e3m2", 32)) ==
        "m: entry 1 of the table is 0.0625, which is no number of mxfp6-pack-quantized");
  CHECK(fault_of(counting("mxfp8_e5m2", 32)) ==
        "m: entry 1 of the table is 1.52587890625e-05, which is no number of mxfp8-quantized");
  MadeLookup own = counting("fp8_e4m3", 32);
  own.table.insert(own.table.end(), own.table.begin(), own.table.end());
  own.tables = 2;
  CHECK(fault_of(own) == refused("tables of 256 values, scales for blocks of 32"));
  MadeLookup across = counting("fp8_e4m3", 32);
  across.block = 24;
  across.scales.assign(3, 1.0);
  CHECK(fault_of(across) ==
        "m: 32 input columns; compressed-tensors wants a multiple of the group size, 24");
  MadeLookup large = counting("fp8_e4m3", 32);
  large.scales = {1, 1e39};
  CHECK(fault_of(large) == "m: scale 1e+39 is beyond float32");
}

TEST_CASE("float layouts: linears of several layouts have none in common",
          "[formats][packed][compressed-tensors]") {
  const auto both = [](MadeLookup a, MadeLookup b) {
    return format_message_of([&] {
      Written written(kFormat);
      a.name = "a";
      b.name = "b";
      a.store(written);
      b.store(written);
      written.finish();
    });
  };
  const std::string differ =
      "a and b differ in their formats or groups; compressed-tensors holds one";
  CHECK(both(counting("nvfp4", 16), counting("mxfp4", 32)) == differ);
  CHECK(both(counting("fp8_e4m3", 8), counting("fp8_e4m3", 16)) == differ);
  CHECK(both(counting("fp8_e4m3", 32), counting("fp8_e4m3", 64)) == differ);
  MadeLookup narrow = counting("fp8_e4m3", 8);  // one group, as long as a row
  narrow.in = 8;
  narrow.out = 8;
  CHECK(both(narrow, counting("fp8_e4m3", 8)) == "");
  narrow.in = 4;
  narrow.out = 16;
  narrow.block = 4;
  narrow.scales.assign(16, 1.0);
  CHECK(both(counting("fp8_e4m3", 8), narrow) == differ);
  Written written(kFormat);
  counting("nvfp4", 16).store(written);
  const std::vector<uint8_t> codes(64, 1);
  const std::vector<double> ones(2, 1.0);
  const std::vector<double> zeros(2, 8.0);
  const std::vector<int32_t> groups(32, 0);
  const quench_coded_linear integers{
      sizeof integers, "n", 2, 32, 1, 4, codes.data(), ones.data(), zeros.data(), groups.data()};
  CHECK(format_message_of([&] { written.store(integers, 64); }) ==
        "m and n differ, integers and floats; compressed-tensors holds one layout");
}

TEST_CASE("float layouts: hand-made bytes have the values worked out by hand",
          "[formats][packed][compressed-tensors]") {
  std::vector<float> wanted;
  for (int i = 0; i < 8; ++i) {
    wanted.insert(wanted.end(), {0.125F, -1.5F});  // of 1/4
  }
  CHECK(read_weight(nvfp4_tensors(), nvfp4_config()) == wanted);
  // The least and the largest scale of E8M0; 0x11 is twice 0.5, 0x22 twice 1.
  const BuiltTensors mx = {
      {"m.weight_packed", bytes("U8", {2, 16}, std::string(16, '\x11') + std::string(16, '\x22'))},
      {"m.weight_scale", bytes("U8", {2, 1}, std::string("\x00\xFE", 2))}};
  std::vector<float> extremes(32, std::ldexp(1.0F, -128));
  extremes.insert(extremes.end(), 32, std::ldexp(1.0F, 127));
  CHECK(read_weight(mx, mx_config("mxfp4-pack-quantized", 4)) == extremes);
  // 6-bit codes 1, 2, 3, 4 of three bytes, in eighths.
  std::string threes;
  for (int i = 0; i < 8; ++i) {
    threes += std::string("\x81\x30\x10", 3);
  }
  const BuiltTensors six = {{"m.weight_packed", bytes("U8", {1, 24}, threes)},
                            {"m.weight_scale", bytes("U8", {1, 1}, "\x82")}};  // 2^3
  std::vector<float> counted;
  for (int i = 0; i < 8; ++i) {
    counted.insert(counted.end(), {1, 2, 3, 4});
  }
  CHECK(read_weight(six, mx_config("mxfp6-pack-quantized", 6)) == counted);
  const std::vector<float> rows = {1, 1.125F, 1.25F, -0.5F, std::ldexp(1.0F, -10), 224};
  CHECK(read_weight(fp8_tensors(), fp8_config({{"strategy", "channel"}})) == rows);
  CHECK(read_weight(fp8_tensors(), fp8_config({{"group_size", -1}})) == rows);
  BuiltTensors whole = fp8_tensors();
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {1}, {1, 1}}) {
    whole["m.weight_scale"] = float_tensor(shape, {2});
    const std::vector<float> twice = {2, 2.25F, 2.5F, -2, std::ldexp(1.0F, -8), 896};
    CHECK(read_weight(whole, fp8_config({{"strategy", "tensor"}})) == twice);
    CHECK(read_weight(whole, fp8_config(nlohmann::json::object())) == twice);
  }
  BuiltTensors blocks = fp8_tensors();
  blocks["m.weight_scale"] = float_tensor({1, 2}, {1, 4});
  CHECK(read_weight(blocks, fp8_config({{"strategy", "block"},
                                        {"block_structure", nlohmann::json::array({2, 2})}})) ==
        std::vector<float>{1, 1.125F, 5, -1, std::ldexp(1.0F, -9), 1792});
}

TEST_CASE("float layouts: files that contradict themselves are refused by name",
          "[formats][packed][compressed-tensors]") {
  const std::string m = "linear 'm': ";
  const nlohmann::json nvfp4 = nvfp4_config();
  CHECK(fault_with(nvfp4_tensors(), "m.weight_packed", bytes("U8", {1, 7}, "1234567"), nvfp4) ==
        m + "weight_packed is U8 [1, 7], wanted whole groups of 16 columns");
  CHECK(fault_with(nvfp4_tensors(), "m.weight_packed", words({1, 2}, {0, 0}), nvfp4) ==
        m + "weight_packed is I32 [1, 2], wanted U8 of two dimensions");
  CHECK(fault_with(nvfp4_tensors(), "m.weight_scale", bytes("U8", {1, 1}, "1"), nvfp4) ==
        m + "weight_scale is U8 [1, 1], wanted F8_E4M3 [1, 1]");
  CHECK(fault_with(nvfp4_tensors(), "m.weight_scale", bytes("F8_E4M3", {1, 2}, "11"), nvfp4) ==
        m + "weight_scale is F8_E4M3 [1, 2], wanted F8_E4M3 [1, 1]");
  CHECK(fault_with(nvfp4_tensors(), "m.weight_scale", bytes("F8_E4M3", {1, 1}, "\x7F"), nvfp4) ==
        m + "weight [0, 0] is not finite");
  CHECK(fault_with(nvfp4_tensors(), "m.weight_global_scale", float_tensor({2}, {1, 1}), nvfp4) ==
        m + "weight_global_scale is F32 [2], wanted one F32");
  for (const float wrong : {0.0F, -1.0F, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    CHECK_THAT(
        fault_with(nvfp4_tensors(), "m.weight_global_scale", float_tensor({1}, {wrong}), nvfp4),
        Catch::StartsWith(m + "weight_global_scale is ") &&
            Catch::EndsWith(", wanted a number above 0"));
  }
  CHECK(fault_with(nvfp4_tensors(), "m.weight_zero_point", bytes("I8", {1, 1}, "1"), nvfp4) ==
        m + "has weight_zero_point, and the config says symmetric");
  BuiltTensors tensors = nvfp4_tensors();
  tensors.erase("m.weight_global_scale");
  CHECK(reading_fault(tensors, nvfp4) ==
        m + "has weight_packed, weight_scale, and no weight_global_scale");
  tensors.erase("m.weight_packed");
  CHECK(reading_fault(tensors, nvfp4) ==
        "tensor 'm.weight_scale' is there without 'm.weight_packed'");
  const nlohmann::json channel = fp8_config({{"strategy", "channel"}});
  CHECK(fault_with(fp8_tensors(), "m.weight_scale", float_tensor({2}, {1, 1}), channel) ==
        m + "weight_scale is F32 [2], wanted a floating-point type, [2, 1]");
  CHECK(fault_with(fp8_tensors(), "m.weight", bytes("I8", {2, 3}, "123456"), channel) ==
        m + "weight is I8 [2, 3], wanted F8_E4M3 of two dimensions");
  CHECK(fault_with(fp8_tensors(), "m.weight", bytes("F8_E4M3", {2, 3}, "1234\xFF\x36"), channel) ==
        m + "weight [1, 1] is not finite");
  CHECK(fault_with(fp8_tensors(), "n.weight", bytes("F8_E4M3", {1, 1}, "1"), channel) ==
        "tensor 'n.weight' is F8_E4M3, and no scale stands beside it");
  CHECK(reading_fault(fp8_tensors(), fp8_config({{"group_size", 2}})) ==
        m + "weight is F8_E4M3 [2, 3], wanted whole groups of 2 columns");
  CHECK(reading_fault(fp8_tensors(), fp8_config({{"strategy", "tensor"}})) ==
        m + "weight_scale is F32 [2, 1], wanted one number of a floating-point type");
  const nlohmann::json mx = mx_config("mxfp8-quantized", 8);
  const BuiltTensors nan = {{"m.weight", bytes("F8_E4M3", {1, 32}, std::string(32, '1'))},
                            {"m.weight_scale", bytes("U8", {1, 1}, "\xFF")}};
  CHECK(reading_fault(nan, mx) == m + "weight [0, 0] is not finite");
}

TEST_CASE("float layouts: configs that are not read are refused by name",
          "[formats][packed][compressed-tensors]") {
  const auto fault = [](const nlohmann::json& config) {
    return reading_fault(nvfp4_tensors(), config);
  };
  const std::string read =
      "pack-quantized, nvfp4-pack-quantized, mxfp4-pack-quantized, mxfp6-pack-quantized, "
      "mxfp8-quantized, float-quantized, naive-quantized";
  nlohmann::json config = nvfp4_config();
  config["format"] = "marlin-24";
  CHECK(fault(config) == "c: format = marlin-24, read are " + read);
  config["format"] = "mixed-precision";
  CHECK(fault(config) == "c: format = mixed-precision, read are " + read);
  config = nvfp4_config();
  config["config_groups"]["g"]["format"] = "pack-quantized";
  CHECK(fault(config) ==
        "c: g: format = pack-quantized, and that of the whole file is "
        "nvfp4-pack-quantized");
  config.erase("format");
  config["config_groups"]["g"]["format"] = "nvfp4-pack-quantized";
  CHECK(fault(config) == "");
  const auto with = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json changed = nvfp4_config();
    changed["config_groups"]["g"]["weights"][key] = value;
    return fault(changed);
  };
  const std::string w = "c: g: weights: ";
  CHECK(with("num_bits", 8) ==
        w + "num_bits = 8, type = float; nvfp4-pack-quantized is read with floats of 4 bits");
  CHECK(with("type", "int") ==
        w + "num_bits = 4, type = int; nvfp4-pack-quantized is read with floats of 4 bits");
  CHECK(with("group_size", 32) ==
        w + "strategy = tensor_group, group_size = 32; nvfp4-pack-quantized has tensor_group and "
            "16");
  CHECK(with("strategy", "group") ==
        w + "strategy = group, group_size = 16; nvfp4-pack-quantized has tensor_group and 16");
  CHECK(with("symmetric", false) == w + "symmetric = false; floats are read without zero points");
  CHECK(with("actorder", "group") ==
        w + "actorder = group; floats are read in groups of neighbours");
  CHECK(with("actorder", "weight") == "");
  CHECK(with("block_structure", nlohmann::json::array({2, 2})) ==
        w + "block_structure is set, and strategy = tensor_group");
  const auto fp8 = [&](const nlohmann::json& more) {
    return reading_fault(fp8_tensors(), fp8_config(more));
  };
  CHECK(fp8({{"strategy", "token"}}) ==
        w + "strategy = token, group_size = -1; read are tensor, channel, group with a size, and "
            "block");
  CHECK(fp8({{"strategy", "group"}}) ==
        w + "strategy = group, group_size = -1; read are tensor, channel, group with a size, and "
            "block");
  CHECK(fp8({{"strategy", "block"}}) ==
        w + "block_structure is missing, wanted [rows, columns] of 1 to 16777216");
  for (const nlohmann::json& wrong :
       {nlohmann::json::array({128}), nlohmann::json::array({0, 1}),
        nlohmann::json::array({1, 1.5}), nlohmann::json::array({1, 16777217}),
        nlohmann::json("2x2")}) {
    CHECK_THAT(fp8({{"strategy", "block"}, {"block_structure", wrong}}),
               Catch::StartsWith(w + "block_structure is ") &&
                   Catch::EndsWith(", wanted [rows, columns] of 1 to 16777216"));
  }
}

}  // namespace quench::test
