// Two blocks of width 16 that gpt_neox can draw.
#pragma once

namespace quench::test {

inline constexpr const char* kTinyConfig = R"({"model_type": "gpt_neox", "hidden_size": 16,
  "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 37,
  "max_position_embeddings": 16, "hidden_act": "gelu", "layer_norm_eps": 1e-5, "rotary_pct": 0.25,
  "rotary_emb_base": 10000, "use_parallel_residual": true, "attention_bias": true,
  "tie_word_embeddings": false, "initializer_range": 0.02})";

}  // namespace quench::test
