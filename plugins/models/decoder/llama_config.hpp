// Reads the config.json of a model with Llama's layout.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/decoder/llama_model.hpp"
#include "quench/kit/json.hpp"
#include "quench/kit/model.hpp"

namespace quench::decoder {

// How the configs of one family differ from Llama's.
struct LlamaDialect {
  std::string_view model_type;
  std::string_view activation = "silu";              // the only hidden_act allowed
  std::optional<double> usual_theta = std::nullopt;  // if rope_theta is missing
  bool usually_tied = false;                         // if tie_word_embeddings is missing
  bool has_rms_eps = true;                           // whether rms_norm_eps exists
  bool repeats_eps = false;                          // layer_norm_eps may stand beside it, equal
  bool has_mlp_bias = false;                         // whether mlp_bias is understood
  bool has_windows = false;                          // settings of sliding windows may exist, off
  // Settings of sliding windows are the family's to read (read_windows).
  bool reads_windows = false;
  // Blocks with a window have rotary settings of their own, which become `window_rope`.
  bool has_window_rope = false;
  std::span<const std::string_view> more = {};  // keys that the family reads itself
};

// How far a config of another model_type is from this family, and why.
kit::Fit llama_nearness(const kit::Json& config, const LlamaDialect& dialect);

// Reads the settings that all of them share; settings of the family itself keep their defaults.
// Throws with the key's name: INVALID_ARGUMENT for values that are out of range or contradict each
// other, UNSUPPORTED for keys that are not understood and might change the forward.
LlamaModel read_llama_config(const kit::Json& config, const LlamaDialect& dialect);

// Warns of keys that nothing is known of (config.hpp).
void tell_unknown_keys(const kit::Json& config, const LlamaDialect& dialect);

// Throws UNSUPPORTED if a window is used; its size may be there.
void refuse_windows(const kit::Json& config);

// The window of each block by layer_types and sliding_window; 0 in one that sees all. Where
// layer_types is missing, `usual` says whether a block has a window. INVALID_ARGUMENT for a list of
// another length or a window without a size, UNSUPPORTED for a type that is none of the two.
std::vector<int64_t> read_windows(const kit::Json& config, int64_t blocks,
                                  const std::function<bool(int64_t block)>& usual);

// The same where use_sliding_window says whether there are windows, by default in the blocks from
// max_window_layers on; none without it.
std::vector<int64_t> read_upper_windows(const kit::Json& config, int64_t blocks);

// clip_qkv if present; INVALID_ARGUMENT if it is not positive.
std::optional<double> read_clip(const kit::Json& config);

// Throws UNSUPPORTED if the key is present and is not `only`.
void require_boolean(const kit::Json& config, const char* key, bool only);

}  // namespace quench::decoder
