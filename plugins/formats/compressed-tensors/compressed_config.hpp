// What a quantization_config of compressed-tensors says of the weights.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "formats/compressed-tensors/float_layout.hpp"
#include "formats/packed/config_reader.hpp"
#include "formats/packed/scheme.hpp"
#include "quench/kit/format.hpp"

namespace quench::formats {

inline constexpr const char* kIntegerLayout = "pack-quantized";

struct CompressedConfig {
  Scheme scheme;
  std::optional<FloatScheme> floats;  // nothing: integers, in the layout pack-quantized

  bool operator==(const CompressedConfig&) const = default;
};

// Throws kit::Error, by name: UNSUPPORTED for layouts, schemes and members that are not read,
// INVALID_ARGUMENT for values that contradict each other.
CompressedConfig read_compressed_config(const ConfigReader& reader);

// Members for config.json: one group with these `weights`, of all linears but those in `left`.
std::string written_config(std::string_view layout, const nlohmann::json& weights,
                           const kit::FloatLinears& left);

// Warns of members that nothing is known of, and refuses those that may change weights.
void tell_unknown_members(const FoundConfig& found);

}  // namespace quench::formats
