#include "core/checkpoint/packed/quantization_config.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/json/parse_json.hpp"

namespace quench {

namespace {

using nlohmann::json;

struct Named {
  PackedFormat format;
  const char* name;
};
constexpr std::array<Named, 5> kFormats = {
    {{PackedFormat::kGptq, "gptq"},
     {PackedFormat::kGptqV2, "gptq_v2"},
     {PackedFormat::kAwqGemm, "awq"},
     {PackedFormat::kBitsandbytesInt8, "bnb_int8"},
     {PackedFormat::kCompressedTensors, "compressed-tensors"}}};

// One JSON object with the place of its messages.
class Reader {
 public:
  Reader(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: {}, wanted an object", where_, object.type_name());
    }
  }

  const std::string& where() const { return where_; }
  // Null where the key is absent or null.
  const json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  std::string text(const char* key, const std::string& otherwise) const {
    const json* value = find(key);
    if (value == nullptr) {
      return otherwise;
    }
    if (!value->is_string()) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: {} is {}, wanted a text", where_, key, value->type_name());
    }
    return value->get<std::string>();
  }
  bool flag(const char* key, bool otherwise) const {
    const json* value = find(key);
    if (value == nullptr) {
      return otherwise;
    }
    if (!value->is_boolean()) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: {} is {}, wanted true or false", where_, key,
           value->type_name());
    }
    return value->get<bool>();
  }
  int64_t integer(const char* key, std::optional<int64_t> otherwise) const {
    const json* value = find(key);
    if (value == nullptr && otherwise) {
      return *otherwise;
    }
    if (value == nullptr) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: no {}", where_, key);
    }
    return json_integer(*value, where_ + ": " + key);
  }
  bool empty(const char* key) const {
    const json* value = find(key);
    return value == nullptr || (value->is_structured() && value->empty());
  }

 private:
  const json& object_;
  std::string where_;
};

int64_t group_size_of(const Reader& reader, const char* key = "group_size",
                      std::optional<int64_t> otherwise = std::nullopt) {
  const int64_t size = reader.integer(key, otherwise);
  if (size != -1 && (size < 1 || size > kMaxPackedSide)) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} = {}, wanted -1 or 1 to {}", reader.where(), key, size,
         kMaxPackedSide);
  }
  return size;
}

// meta.quantizer: "gptqmodel:4.2.5", or a list of such.
std::string writer_of(const Reader& reader) {
  const json* meta = reader.find("meta");
  const json* quantizer = meta != nullptr && meta->is_object() && meta->contains("quantizer")
                              ? &meta->at("quantizer")
                              : nullptr;
  if (quantizer != nullptr && quantizer->is_array() && !quantizer->empty()) {
    quantizer = &quantizer->front();
  }
  return quantizer != nullptr && quantizer->is_string()
             ? printable(quantizer->get<std::string>(), 80)
             : "";
}

// The conversion was repaired after 6.0 and before 7.0.
ThreeBitZeros three_bit_zeros_of(const std::string& writer) {
  constexpr std::string_view kTool = "gptqmodel:";
  constexpr long kRepairedIn = 7;
  if (!writer.starts_with(kTool)) {
    return ThreeBitZeros::kAsDocumented;
  }
  const long major = std::strtol(writer.c_str() + kTool.size(), nullptr, 10);
  return major < kRepairedIn ? ThreeBitZeros::kConstantsReversed : ThreeBitZeros::kAsDocumented;
}

void check_words(const Reader& reader) {
  if (const std::string words = reader.text("pack_dtype", "int32"); words != "int32") {
    fail(QUENCH_UNSUPPORTED, "{}: pack_dtype = {}, read is int32", reader.where(),
         printable(words));
  }
}

QuantizationConfig read_gptq(const Reader& reader) {
  QuantizationConfig out;
  const std::string layout = reader.text("checkpoint_format", reader.text("format", "gptq"));
  if (layout == "gptq") {
    out.format = PackedFormat::kGptq;
  } else if (layout == "gptq_v2") {
    out.format = PackedFormat::kGptqV2;
  } else {
    fail(QUENCH_UNSUPPORTED, "{}: checkpoint_format = {}, read are gptq and gptq_v2",
         reader.where(), printable(layout));
  }
  check_words(reader);
  out.bits = reader.integer("bits", std::nullopt);
  if (out.bits != 2 && out.bits != 3 && out.bits != 4 && out.bits != 8) {
    fail(QUENCH_UNSUPPORTED, "{}: bits = {}, read are 2, 3, 4 and 8", reader.where(), out.bits);
  }
  out.group_size = group_size_of(reader);
  out.ordered = reader.flag("desc_act", false);
  out.symmetric = reader.flag("sym", true);
  out.varied = !reader.empty("dynamic");
  out.writer = writer_of(reader);
  out.three_bit_zeros = three_bit_zeros_of(out.writer);
  return out;
}

QuantizationConfig read_awq(const Reader& reader) {
  QuantizationConfig out;
  out.format = PackedFormat::kAwqGemm;
  const std::string layout = reader.text("version", reader.text("checkpoint_format", "gemm"));
  std::string lower = layout;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower != "gemm") {
    fail(QUENCH_UNSUPPORTED, "{}: version = {}, read is gemm", reader.where(), printable(layout));
  }
  check_words(reader);
  out.bits = reader.integer("bits", reader.integer("w_bit", 4));
  if (out.bits != 4) {
    fail(QUENCH_UNSUPPORTED, "{}: bits = {}, the layout has 4", reader.where(), out.bits);
  }
  out.group_size = reader.find("group_size") != nullptr
                       ? group_size_of(reader)
                       : group_size_of(reader, "q_group_size", 128);
  out.symmetric = !reader.flag("zero_point", true);
  out.writer = writer_of(reader);
  return out;
}

QuantizationConfig read_bitsandbytes(const Reader& reader) {
  QuantizationConfig out;
  out.format = PackedFormat::kBitsandbytesInt8;
  if (!reader.flag("load_in_8bit", false)) {
    fail(QUENCH_UNSUPPORTED, "{}: load_in_8bit is not set; of bitsandbytes' forms int8 is read",
         reader.where());
  }
  out.bits = 8;
  out.writer = "bitsandbytes";
  return out;
}

void check_weights_alone(const Reader& reader) {
  for (const char* key : {"input_activations", "output_activations"}) {
    if (reader.find(key) != nullptr) {
      fail(QUENCH_UNSUPPORTED, "{}: {} are quantized too, read are weights alone", reader.where(),
           key);
    }
  }
}

QuantizationConfig read_compressed_group(const Reader& group) {
  check_weights_alone(group);
  if (const std::string layout = group.text("format", "pack-quantized");
      layout != "pack-quantized") {
    fail(QUENCH_UNSUPPORTED, "{}: format = {}, read is pack-quantized", group.where(),
         printable(layout));
  }
  static const json kNone;
  const json* object = group.find("weights");
  const Reader weights(object != nullptr ? *object : kNone, group.where() + ": weights");
  QuantizationConfig out;
  out.format = PackedFormat::kCompressedTensors;
  out.bits = weights.integer("num_bits", std::nullopt);
  if (weights.text("type", "int") != "int" || out.bits < 2 || out.bits > 8) {
    fail(QUENCH_UNSUPPORTED, "{}: num_bits = {}, type = {}, read are integers of 2 to 8 bits",
         weights.where(), out.bits, printable(weights.text("type", "int")));
  }
  const std::string strategy = weights.text("strategy", "channel");
  if (strategy != "group" && strategy != "channel") {
    fail(QUENCH_UNSUPPORTED, "{}: strategy = {}, read are group and channel", weights.where(),
         printable(strategy));
  }
  out.group_size = strategy == "group" ? group_size_of(weights) : -1;
  out.symmetric = weights.flag("symmetric", true);
  const json* order = weights.find("actorder");
  // The words that mean a stored order; "static" and "weight" leave the groups where they are.
  out.ordered = order != nullptr && (*order == "group" || *order == true);
  return out;
}

QuantizationConfig read_compressed(const Reader& reader) {
  if (const std::string layout = reader.text("format", "pack-quantized");
      layout != "pack-quantized") {
    fail(QUENCH_UNSUPPORTED, "{}: format = {}, read is pack-quantized", reader.where(),
         printable(layout));
  }
  for (const char* key : {"sparsity_config", "transform_config", "kv_cache_scheme"}) {
    if (!reader.empty(key)) {
      fail(QUENCH_UNSUPPORTED, "{}: {} is set, which is not read", reader.where(), key);
    }
  }
  const json* groups = reader.find("config_groups");
  if (groups == nullptr || !groups->is_object() || groups->empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: no config_groups", reader.where());
  }
  std::optional<QuantizationConfig> out;
  for (const auto& [name, group] : groups->items()) {
    const QuantizationConfig read =
        read_compressed_group(Reader(group, reader.where() + ": " + printable(name)));
    if (out && (out->bits != read.bits || out->group_size != read.group_size ||
                out->symmetric != read.symmetric || out->ordered != read.ordered)) {
      fail(QUENCH_UNSUPPORTED, "{}: config_groups differ in their weights, read is one scheme",
           reader.where());
    }
    out = read;
  }
  const std::string version = reader.text("version", "");
  out->writer = "compressed-tensors" + (version.empty() ? "" : ":" + printable(version, 40));
  return *out;
}

}  // namespace

const char* format_name(PackedFormat format) {
  const auto* found = std::find_if(kFormats.begin(), kFormats.end(),
                                   [&](const Named& named) { return named.format == format; });
  return found->name;
}

const std::vector<std::string>& format_names() {
  static const std::vector<std::string> kNames([] {
    std::vector<std::string> names;
    for (const Named& named : kFormats) {
      names.emplace_back(named.name);
    }
    return names;
  }());
  return kNames;
}

PackedFormat parse_format(std::string_view name) {
  for (const Named& named : kFormats) {
    if (name == named.name) {
      return named.format;
    }
  }
  fail(QUENCH_INVALID_ARGUMENT, "format {}: there are {}", printable(name),
       fmt::join(format_names(), ", "));
}

QuantizationConfig parse_quantization_config(const json& config, const std::string& where) {
  const Reader reader(config, where);
  // Files of the first tools have no name of the method: their key is `bits`.
  const std::string method =
      reader.text("quant_method", reader.text("method", reader.find("bits") ? "gptq" : ""));
  if (method == "gptq") {
    return read_gptq(reader);
  }
  if (method == "awq") {
    return read_awq(reader);
  }
  if (method == "bitsandbytes") {
    return read_bitsandbytes(reader);
  }
  if (method == "compressed-tensors") {
    return read_compressed(reader);
  }
  fail(QUENCH_UNSUPPORTED,
       "{}: quant_method = {}, read are gptq, awq, bitsandbytes and compressed-tensors", where,
       printable(method));
}

std::optional<QuantizationConfig> read_quantization_config(const std::string& config_json,
                                                           const std::string& where) {
  if (config_json.empty()) {
    return std::nullopt;
  }
  const json config = parse_json(config_json, where);
  if (!config.is_object()) {
    return std::nullopt;  // who opens the model says so
  }
  const auto found = config.find("quantization_config");
  if (found == config.end() || found->is_null()) {
    return std::nullopt;
  }
  return parse_quantization_config(*found, where + ": quantization_config");
}

json describe(const QuantizationConfig& config) {
  return {{"format", format_name(config.format)},
          {"bits", config.bits},
          {"group_size", config.group_size},
          {"symmetric", config.symmetric},
          {"ordered", config.ordered},
          {"writer", config.writer.empty() ? json() : json(config.writer)}};
}

}  // namespace quench
