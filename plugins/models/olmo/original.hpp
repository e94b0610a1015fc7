// The first OLMo files, from before the Transformers library had the family: model_type `hf_olmo`,
// keys such as d_model, and fused weights.
#pragma once

#include "models/decoder/llama_model.hpp"
#include "models/decoder/renamed_source.hpp"
#include "quench/kit/json.hpp"

namespace quench::olmo {

// Whether a config has the original keys; some say `olmo` but have them.
bool is_original(const kit::Json& config);

// Reads such a config. Throws UNSUPPORTED with the key's name for what OLMo's published models do
// not have: ALiBi, norms with weights or on q and k, parallel blocks, biases, other activations.
decoder::LlamaModel read_original(const kit::Json& config);

// Warns of keys of such a config that nothing is known of.
void tell_unknown_original_keys(const kit::Json& config);

// Shows `source` under the names of later files:
//   transformer.wte, ff_out                   embed_tokens, lm_head
//   blocks.N.att_proj, attn_out               q_proj over k_proj over v_proj, o_proj
//   blocks.N.ff_proj, ff_out                  up_proj over gate_proj, down_proj
// Other names stay. Throws DATA_LOSS for a fused weight of another shape.
void rename_original(const decoder::LlamaModel& model, decoder::RenamedSource& source);

}  // namespace quench::olmo
