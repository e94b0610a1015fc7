// What config.json says of weights that are stored as codes.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quench {

// Both dimensions of a packed weight, and so the columns of a group, are at most this: a file of
// strided tensors can claim any.
inline constexpr int64_t kMaxPackedSide = int64_t{1} << 24;

// Files of other tools that are read and written. docs/formats.md has their layouts.
enum class PackedFormat { kGptq, kGptqV2, kAwqGemm, kBitsandbytesInt8, kCompressedTensors };

// "gptq", "gptq_v2", "awq", "bnb_int8", "compressed-tensors": as the command line names them.
const char* format_name(PackedFormat format);
const std::vector<std::string>& format_names();
// Throws Error(INVALID_ARGUMENT) with the names there are.
PackedFormat parse_format(std::string_view name);

// How GPTQ v1 files of three bits hold their zeros. Some versions of one tool took the constants of
// the words in the wrong order when they stored `zero - 1`; a reader that adds the same ones back
// gets the zeros, a reader of the documented format does not.
enum class ThreeBitZeros { kAsDocumented, kConstantsReversed };

struct QuantizationConfig {
  PackedFormat format = PackedFormat::kGptq;
  int64_t bits = 0;
  int64_t group_size = -1;  // columns; -1: the whole row
  bool symmetric = true;
  bool ordered = false;  // groups follow the order of quantization (desc_act), not the columns
  // Settings of single modules may differ from those above; the shapes of tensors then tell.
  bool varied = false;
  std::string writer;  // "gptqmodel:4.2.5", "compressed-tensors:0.19.0", or empty
  ThreeBitZeros three_bit_zeros = ThreeBitZeros::kAsDocumented;
};

// The `quantization_config` of a config.json; nothing where the config has none. `where` begins
// every message. Throws Error: INVALID_ARGUMENT for what contradicts itself, UNSUPPORTED, by name,
// for methods, layouts and versions that are not read.
std::optional<QuantizationConfig> read_quantization_config(const std::string& config_json,
                                                           const std::string& where);
// The object itself, which older writers keep in a quantize_config.json of its own.
QuantizationConfig parse_quantization_config(const nlohmann::json& config,
                                             const std::string& where);

// {"format": "gptq", "bits": 4, "group_size": 128, "symmetric": true, "ordered": false, "writer":
// "gptqmodel:7.7.0"}: for records.
nlohmann::json describe(const QuantizationConfig& config);

}  // namespace quench
