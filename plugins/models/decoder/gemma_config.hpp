// What the families of Gemma share (Gemma team 2024, arXiv 2408.00118): norms around each branch
// that multiply by 1 + w, a scaled embedding, GELU by tanh, and blocks that alternate between a
// window and all earlier tokens.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "models/decoder/llama_config.hpp"

namespace quench::decoder {

inline constexpr std::array<std::string_view, 8> kGemmaKeys = {
    "attn_logit_softcapping", "cache_implementation",       "final_logit_softcapping",
    "hidden_activation",      "query_pre_attn_scalar",      "sliding_window_pattern",
    "sliding_window_size",    "use_bidirectional_attention"};

LlamaDialect gemma_dialect(std::string_view model_type);

// `pattern`: each block but every pattern-th has a window, where the config says nothing.
LlamaModel read_gemma_config(const kit::Json& config, const LlamaDialect& dialect, int64_t pattern);

// A cap of scores or logits: `usual` if the key is missing, 0 if it is null.
double read_cap(const kit::Json& config, const char* key, double usual);

}  // namespace quench::decoder
