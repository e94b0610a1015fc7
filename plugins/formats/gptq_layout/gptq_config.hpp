// What a quantization_config says of GPTQ files.
#pragma once

#include "formats/packed/config_reader.hpp"
#include "formats/packed/scheme.hpp"

namespace quench::formats {

// How files of version 1 with three bits hold their zeros. Some versions of one tool took the
// constants of the words in the wrong order when they stored `zero - 1`; a reader that adds the
// same ones back gets the zeros, a reader of the documented format does not.
enum class ThreeBitZeros { kAsDocumented, kConstantsReversed };

struct GptqConfig {
  Scheme scheme;
  bool less_one = true;  // zero points are stored less one: version 1
  // Settings of single modules may differ from those above; the shapes of tensors then tell.
  bool varied = false;
  ThreeBitZeros three_bit_zeros = ThreeBitZeros::kAsDocumented;
};

// "gptq", "gptq_v2" or another layout.
std::string gptq_layout(const ConfigReader& reader);

// Warns of members that nothing is known of; throws kit::Error(UNSUPPORTED) where one might change
// weights.
void tell_unknown_gptq_members(const FoundConfig& found);

// Throws kit::Error: INVALID_ARGUMENT for what contradicts itself, UNSUPPORTED, by name, for what
// is not read.
GptqConfig read_gptq_config(const ConfigReader& reader);

}  // namespace quench::formats
