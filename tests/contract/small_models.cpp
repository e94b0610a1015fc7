// A family joins with its config and the shapes of its tensors.
#include "tests/contract/small_models.hpp"

#include <stdexcept>
#include <utility>

#include "promises/tensors.hpp"

namespace quench::test {

namespace {

using Shapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

SmallModel drawn(std::string config, const Shapes& shapes) {
  SmallModel model{std::move(config), {}, /*each_number_counts=*/true};
  for (const auto& [name, shape] : shapes) {
    size_t count = 1;
    for (const int64_t extent : shape) {
      count *= static_cast<size_t>(extent);
    }
    model.tensors.push_back(
        {name, shape, promises::numbers<double>(model.tensors.size() + 1, count)});
  }
  return model;
}

SmallModel template_model() {
  return drawn(R"({"model_type": "template_model", "vocab_size": 11, "hidden_size": 8,
                   "num_hidden_layers": 2, "max_position_embeddings": 32})",
               {{"embed.weight", {11, 8}},
                {"blocks.0.mix.weight", {8, 8}},
                {"blocks.1.mix.weight", {8, 8}},
                {"head.weight", {11, 8}}});
}

SmallModel gpt_neox() {
  Shapes shapes = {{"gpt_neox.embed_in.weight", {11, 16}}};
  for (const std::string layer : {"gpt_neox.layers.0.", "gpt_neox.layers.1."}) {
    for (const char* norm : {"input_layernorm", "post_attention_layernorm"}) {
      shapes.push_back({layer + norm + ".weight", {16}});
      shapes.push_back({layer + norm + ".bias", {16}});
    }
    const std::vector<std::pair<std::string, std::vector<int64_t>>> linears = {
        {"attention.query_key_value", {48, 16}},
        {"attention.dense", {16, 16}},
        {"mlp.dense_h_to_4h", {32, 16}},
        {"mlp.dense_4h_to_h", {16, 32}}};
    for (const auto& [name, shape] : linears) {
      shapes.push_back({layer + name + ".weight", shape});
      shapes.push_back({layer + name + ".bias", {shape[0]}});
    }
  }
  shapes.push_back({"gpt_neox.final_layer_norm.weight", {16}});
  shapes.push_back({"gpt_neox.final_layer_norm.bias", {16}});
  shapes.push_back({"embed_out.weight", {11, 16}});
  return drawn(R"({"model_type": "gpt_neox", "vocab_size": 11, "hidden_size": 16,
                   "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
                   "max_position_embeddings": 32, "rotary_pct": 0.25, "rotary_emb_base": 10000,
                   "layer_norm_eps": 1e-5, "hidden_act": "gelu", "use_parallel_residual": true,
                   "tie_word_embeddings": false})",
               shapes);
}

SmallModel mamba() {
  Shapes shapes = {{"backbone.embeddings.weight", {11, 16}}};
  for (const std::string layer : {"backbone.layers.0.", "backbone.layers.1."}) {
    const std::string mixer = layer + "mixer.";
    shapes.push_back({layer + "norm.weight", {16}});
    shapes.push_back({mixer + "A_log", {32, 4}});
    shapes.push_back({mixer + "D", {32}});
    shapes.push_back({mixer + "conv1d.weight", {32, 1, 3}});
    shapes.push_back({mixer + "conv1d.bias", {32}});
    shapes.push_back({mixer + "in_proj.weight", {64, 16}});
    shapes.push_back({mixer + "x_proj.weight", {2 + 2 * 4, 32}});
    shapes.push_back({mixer + "dt_proj.weight", {32, 2}});
    shapes.push_back({mixer + "dt_proj.bias", {32}});
    shapes.push_back({mixer + "out_proj.weight", {16, 32}});
  }
  shapes.push_back({"backbone.norm_f.weight", {16}});
  return drawn(R"({"model_type": "mamba", "vocab_size": 11, "hidden_size": 16,
                   "num_hidden_layers": 2, "state_size": 4, "conv_kernel": 3, "expand": 2,
                   "time_step_rank": 2, "layer_norm_epsilon": 1e-5, "time_step_min": 0.001,
                   "time_step_max": 0.1, "time_step_floor": 1e-4, "time_step_scale": 1.0,
                   "hidden_act": "silu", "tie_word_embeddings": true})",
               shapes);
}

// How a family of Llama's layout differs: names, shapes and further keys.
struct LlamaVariant {
  std::string type;
  std::string keys = {};  // of the config, each with a comma behind
  int64_t kv_heads = 2;
  std::vector<std::string> norms = {"input_layernorm", "post_attention_layernorm"};
  int64_t query_norm = 0;  // elements of q_norm; 0: none
  bool gate = true;
  bool biases = false;
  bool biases_of_qkv = false;
  bool tied = false;
  int64_t experts = 0;  // two of them for each token; 0: one MLP
  int64_t expert_width = 32;
  int64_t dense_blocks = 0;  // first ones, with one MLP
  int64_t shared_width = 0;  // of an MLP beside the experts
  bool router_bias = false;
};

void add_linear(Shapes& shapes, const std::string& name, int64_t out, int64_t in, bool bias) {
  shapes.push_back({name + ".weight", {out, in}});
  if (bias) {
    shapes.push_back({name + ".bias", {out}});
  }
}

void add_mlp(Shapes& shapes, const std::string& at, const LlamaVariant& variant,
             int64_t inner = 32) {
  if (variant.gate) {
    add_linear(shapes, at + "gate_proj", inner, 16, variant.biases);
  } else {
    shapes.push_back({at + "act_fn.alpha_p", {1}});
    shapes.push_back({at + "act_fn.alpha_n", {1}});
  }
  add_linear(shapes, at + "up_proj", inner, 16, variant.biases);
  add_linear(shapes, at + "down_proj", 16, inner, variant.biases);
}

void add_experts(Shapes& shapes, const std::string& at, const LlamaVariant& variant) {
  shapes.push_back({at + "gate.weight", {variant.experts, 16}});
  if (variant.router_bias) {
    shapes.push_back({at + "gate.e_score_correction_bias", {variant.experts}});
  }
  for (int64_t e = 0; e < variant.experts; ++e) {
    add_mlp(shapes, at + "experts." + std::to_string(e) + ".", variant, variant.expert_width);
  }
  if (variant.shared_width > 0) {
    add_mlp(shapes, at + "shared_experts.", variant, variant.shared_width);
  }
}

// Two blocks of width 16 with two heads.
SmallModel llama_like(const LlamaVariant& variant) {
  Shapes shapes = {{"model.embed_tokens.weight", {11, 16}}};
  const int64_t keys = variant.kv_heads * 8;
  for (const int64_t block : {0, 1}) {
    const std::string layer = "model.layers." + std::to_string(block) + ".";
    for (const std::string& norm : variant.norms) {
      shapes.push_back({layer + norm + ".weight", {16}});
    }
    const bool biases = variant.biases || variant.biases_of_qkv;
    add_linear(shapes, layer + "self_attn.q_proj", 16, 16, biases);
    add_linear(shapes, layer + "self_attn.k_proj", keys, 16, biases);
    add_linear(shapes, layer + "self_attn.v_proj", keys, 16, biases);
    add_linear(shapes, layer + "self_attn.o_proj", 16, 16, variant.biases);
    if (variant.query_norm != 0) {
      shapes.push_back({layer + "self_attn.q_norm.weight", {variant.query_norm}});
      shapes.push_back({layer + "self_attn.k_norm.weight", {variant.query_norm == 8 ? 8 : keys}});
    }
    if (variant.experts == 0 || block < variant.dense_blocks) {
      add_mlp(shapes, layer + "mlp.", variant);
    } else {
      add_experts(shapes, layer + "mlp.", variant);
    }
  }
  if (!variant.norms.empty()) {
    shapes.push_back({"model.norm.weight", {16}});
  }
  if (!variant.tied) {
    shapes.push_back({"lm_head.weight", {11, 16}});
  }
  return drawn(R"({"model_type": ")" + variant.type + R"(", )" + variant.keys +
                   R"("vocab_size": 11, "hidden_size": 16, "num_hidden_layers": 2,
                   "num_attention_heads": 2, "num_key_value_heads": )" +
                   std::to_string(variant.kv_heads) + R"(, "intermediate_size": 32,
                   "max_position_embeddings": 32, "rope_theta": 10000.0, "rope_scaling": null,
                   "tie_word_embeddings": )" +
                   (variant.tied ? "true}" : "false}"),
               shapes);
}

const std::vector<LlamaVariant>& llama_variants() {
  static const std::string eps = R"("rms_norm_eps": 1e-5, )";
  static const std::string kGemma =
      R"("head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 3, )";
  static const std::vector<std::string> kAround = {"input_layernorm", "post_attention_layernorm",
                                                   "pre_feedforward_layernorm",
                                                   "post_feedforward_layernorm"};
  static const std::vector<LlamaVariant> variants = {
      {.type = "llama", .keys = eps},
      {.type = "olmo", .keys = R"("clip_qkv": 0.75, )", .kv_heads = 1, .norms = {}},
      {.type = "olmo2",
       .keys = eps,
       .norms = {"post_attention_layernorm", "post_feedforward_layernorm"},
       .query_norm = 16},
      {.type = "olmo3",
       .keys = eps + R"("sliding_window": 3, )",
       .norms = {"post_attention_layernorm", "post_feedforward_layernorm"},
       .query_norm = 16},
      {.type = "qwen2",
       .keys = eps + R"("use_sliding_window": true, "max_window_layers": 1, "sliding_window": 3, )",
       .kv_heads = 1,
       .biases_of_qkv = true},
      {.type = "qwen3", .keys = eps, .kv_heads = 1, .query_norm = 8},
      {.type = "gemma2",
       .keys = eps + kGemma + R"("attn_logit_softcapping": 5.0, "final_logit_softcapping": 4.0, )",
       .kv_heads = 1,
       .norms = kAround,
       .tied = true},
      {.type = "gemma3_text",
       .keys = eps + kGemma + R"("rope_local_base_freq": 100.0, )",
       .kv_heads = 1,
       .norms = kAround,
       .query_norm = 8,
       .tied = true},
      {.type = "olmoe",
       .keys = eps + R"("num_experts": 4, "num_experts_per_tok": 2, "norm_topk_prob": false, )",
       .query_norm = 16,
       .experts = 4},
      {.type = "dots1",
       .keys = eps + R"("first_k_dense_replace": 1, "moe_intermediate_size": 8, "n_group": 1,
               "n_routed_experts": 4, "n_shared_experts": 2, "norm_topk_prob": true,
               "num_experts_per_tok": 2, "routed_scaling_factor": 2.5, "topk_group": 1,
               "max_window_layers": 1, "sliding_window": 3, )",
       .kv_heads = 1,
       .query_norm = 8,
       .experts = 4,
       .expert_width = 8,
       .dense_blocks = 1,
       .shared_width = 16,
       .router_bias = true},
      {.type = "smollm3",
       .keys = eps + R"("no_rope_layers": [1, 0], )",
       .kv_heads = 1,
       .tied = true},
      {.type = "opensci",
       .keys = eps + R"("attention_bias": true, "mlp_bias": true, "qk_layernorm": true, )",
       .query_norm = 8,
       .biases = true,
       .tied = true},
      {.type = "apertus",
       .keys = eps + R"("hidden_act": "xielu", )",
       .kv_heads = 1,
       .norms = {"attention_layernorm", "feedforward_layernorm"},
       .query_norm = 8,
       .gate = false}};
  return variants;
}

}  // namespace

SmallModel small_model(const std::string& id) {
  if (id == "template_model") {
    return template_model();
  }
  if (id == "gpt_neox") {
    return gpt_neox();
  }
  if (id == "mamba") {
    return mamba();
  }
  for (const LlamaVariant& variant : llama_variants()) {
    if (id == variant.type) {
      return llama_like(variant);
    }
  }
  throw std::runtime_error("tests/contract/small_models.cpp: no small model of family " + id);
}

}  // namespace quench::test
