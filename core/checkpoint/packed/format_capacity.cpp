// What a file format can hold, and how it says what it holds.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/checkpoint/packed/store_linear.hpp"
#include "core/error.hpp"
#include "core/version.hpp"

namespace quench {

namespace {

using nlohmann::json;

bool is_gptq(PackedFormat format) {
  return format == PackedFormat::kGptq || format == PackedFormat::kGptqV2;
}

std::string exact_pattern(const std::string& module) {
  std::string out = "-:^";
  for (const char c : module) {
    out += c == '.' ? "\\." : std::string(1, c);
  }
  return out + "$";
}

json gptq_config(const QuantizationConfig& scheme, const std::vector<std::string>& left_float,
                 bool quantized_head) {
  const char* layout = format_name(scheme.format);
  json config = {{"quant_method", "gptq"},
                 {"method", "gptq"},
                 {"checkpoint_format", layout},
                 {"format", layout},
                 {"bits", scheme.bits},
                 {"group_size", scheme.group_size},
                 {"desc_act", scheme.ordered},
                 {"sym", scheme.symmetric},
                 {"lm_head", quantized_head},
                 {"pack_dtype", "int32"},
                 {"true_sequential", true},
                 {"meta", {{"quantizer", {std::string("quench:") + kVersion}}}}};
  for (const std::string& module : left_float) {
    config["dynamic"][exact_pattern(module)] = json::object();
  }
  return config;
}

json compressed_config(const QuantizationConfig& scheme,
                       const std::vector<std::string>& left_float) {
  const bool grouped = scheme.group_size != -1;
  const json weights = {{"num_bits", scheme.bits},
                        {"type", "int"},
                        {"symmetric", scheme.symmetric},
                        {"strategy", grouped ? "group" : "channel"},
                        {"group_size", grouped ? json(scheme.group_size) : json()},
                        {"actorder", scheme.ordered ? json("group") : json()},
                        {"dynamic", false}};
  return {{"quant_method", "compressed-tensors"},
          {"format", "pack-quantized"},
          {"quantization_status", "compressed"},
          {"config_groups",
           {{"group_0",
             {{"targets", {"Linear"}},
              {"weights", weights},
              {"input_activations", nullptr},
              {"output_activations", nullptr}}}}},
          {"ignore", left_float}};
}

}  // namespace

std::string scheme_fault(PackedFormat format, int64_t bits, int64_t group_size, bool symmetric,
                         bool ordered) {
  const std::string name = format_name(format);
  if (format == PackedFormat::kAwqGemm && bits != 4) {
    return fmt::format("{} bits; {} holds 4", bits, name);
  }
  if (is_gptq(format) && bits != 2 && bits != 3 && bits != 4 && bits != 8) {
    return fmt::format("{} bits; {} holds 2, 3, 4 and 8", bits, name);
  }
  if (format == PackedFormat::kGptq && !symmetric) {
    return "an asymmetric grid; gptq holds zero points less one, and 0 does not fit: gptq_v2 does";
  }
  if (ordered && format == PackedFormat::kAwqGemm) {
    return fmt::format("groups in the order of quantization; {} has groups of neighbours", name);
  }
  if (format == PackedFormat::kBitsandbytesInt8) {
    if (group_size != -1) {
      return fmt::format("groups of {}; {} has one scale for a row", group_size, name);
    }
    if (!symmetric) {
      return fmt::format("an asymmetric grid; {} has no zero points", name);
    }
  }
  return "";
}

std::string shape_fault(PackedFormat format, int64_t bits, int64_t group_size, int64_t out,
                        int64_t in) {
  const std::string name = format_name(format);
  const bool short_row = is_gptq(format) && group_size > in;  // one group
  if (group_size != -1 && in % group_size != 0 && !short_row) {
    return fmt::format("{} input columns; {} wants a multiple of the group size, {}", in, name,
                       group_size);
  }
  const int64_t unit = is_gptq(format)                    ? (bits == 3 ? 32 : 32 / bits)
                       : format == PackedFormat::kAwqGemm ? 8
                                                          : 1;
  if (is_gptq(format) && in % unit != 0) {
    return fmt::format("{} input columns; {} of {} bits wants a multiple of {}", in, name, bits,
                       unit);
  }
  if (out % unit != 0) {
    return fmt::format("{} output rows; {} of {} bits wants a multiple of {}", out, name, bits,
                       unit);
  }
  return "";
}

QuantizationConfig common_scheme(const std::vector<StoredLinear>& linears) {
  if (linears.empty()) {
    fail(QUENCH_UNSUPPORTED, "no linear was quantized to codes");
  }
  QuantizationConfig out = linears.front().scheme;
  const StoredLinear* sized = nullptr;  // that tells the size of groups
  for (const StoredLinear& linear : linears) {
    const QuantizationConfig& scheme = linear.scheme;
    if (scheme.bits != out.bits || scheme.symmetric != out.symmetric) {
      fail(QUENCH_UNSUPPORTED, "{} and {} differ in their grids ({} and {} bits); {} holds one",
           linears.front().name, linear.name, out.bits, scheme.bits, format_name(out.format));
    }
    out.ordered = out.ordered || scheme.ordered;
    if (scheme.group_size != -1 && sized == nullptr) {
      sized = &linear;
    }
  }
  out.group_size = sized == nullptr ? -1 : sized->scheme.group_size;
  for (const StoredLinear& linear : linears) {
    const int64_t size = linear.scheme.group_size;
    if (sized != nullptr && size != out.group_size && (size != -1 || linear.in > out.group_size)) {
      fail(QUENCH_UNSUPPORTED, "{} and {} differ in their groups; {} holds one size", sized->name,
           linear.name, format_name(out.format));
    }
  }
  return out;
}

void drop_unused(const QuantizationConfig& scheme, std::vector<StoredLinear>& linears) {
  if (scheme.format != PackedFormat::kCompressedTensors || scheme.ordered) {
    return;
  }
  for (StoredLinear& linear : linears) {
    std::erase_if(linear.tensors, [](const PackedTensor& tensor) {
      return tensor.name.ends_with(".weight_g_idx");
    });
  }
}

json quantization_config_of(const QuantizationConfig& scheme,
                            const std::vector<std::string>& left_float, bool quantized_head) {
  switch (scheme.format) {
    case PackedFormat::kGptq:
    case PackedFormat::kGptqV2:
      return gptq_config(scheme, left_float, quantized_head);
    case PackedFormat::kAwqGemm:
      return {{"quant_method", "awq"}, {"bits", 4},         {"group_size", scheme.group_size},
              {"zero_point", true},    {"version", "gemm"}, {"modules_to_not_convert", left_float}};
    case PackedFormat::kBitsandbytesInt8:
      return {{"quant_method", "bitsandbytes"},
              {"load_in_8bit", true},
              {"load_in_4bit", false},
              {"llm_int8_threshold", 6.0},
              {"llm_int8_skip_modules", left_float}};
    case PackedFormat::kCompressedTensors:
      return compressed_config(scheme, left_float);
  }
  fail(QUENCH_INTERNAL, "format {} is not written", static_cast<int>(scheme.format));
}

}  // namespace quench
