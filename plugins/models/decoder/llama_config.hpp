// Reading the config.json of a model that has Llama's layout.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "models/decoder/llama_model.hpp"
#include "quench/kit/host.hpp"
#include "quench/kit/model.hpp"

namespace quench::decoder {

// How the configs of one family differ from Llama's.
struct LlamaDialect {
  std::string_view model_type;
  std::string_view activation = "silu";              // the only hidden_act
  std::optional<double> usual_theta = std::nullopt;  // where rope_theta may be missing
  bool usually_tied = false;                         // where tie_word_embeddings is missing
  bool has_rms_eps = true;                           // rms_norm_eps is there
  bool has_mlp_bias = false;                         // mlp_bias is understood
  bool has_windows = false;                          // so are settings of sliding windows: all off
  std::span<const std::string_view> more = {};       // keys that the family itself reads
};

// What keeps a config of another model_type from being one of this family's.
kit::Fit llama_nearness(const kit::Json& config, const LlamaDialect& dialect);

// What all of them have; the family's own part is left at its defaults. Throws with the key's name:
// INVALID_ARGUMENT for values out of range or in contradiction, UNSUPPORTED for keys that are not
// understood.
LlamaModel read_llama_config(const kit::Json& config, const LlamaDialect& dialect);

// clip_qkv, where it is there; INVALID_ARGUMENT when it is not positive.
std::optional<double> read_clip(const kit::Json& config);

// Throws UNSUPPORTED when the key is there and is not `only`.
void require_boolean(const kit::Json& config, const char* key, bool only);

}  // namespace quench::decoder
