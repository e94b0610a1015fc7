// The form of the first OLMo files.
#include <catch2/catch.hpp>

#include "quench/kit/scalar.hpp"
#include "tests/plugins/models/family_checks.hpp"
#include "tests/support/differences.hpp"

namespace quench::test {

namespace {

using nlohmann::json;

TinyLlama original_olmo() {
  TinyLlama model;
  model.model_type = "olmo";
  model.layer_norm_without_weights = true;
  return model;
}

// As hf_olmo's own class writes it.
json original_config(const TinyLlama& model) {
  json config = {{"activation_type", "swiglu"},
                 {"alibi", false},
                 {"alibi_bias_max", 8.0},
                 {"architectures", {"OLMoForCausalLM"}},
                 {"attention_dropout", 0.0},
                 {"attention_layer_norm", false},
                 {"attention_layer_norm_with_affine", false},
                 {"bias_for_layer_norm", false},
                 {"block_group_size", 1},
                 {"block_type", "sequential"},
                 {"clip_qkv", nullptr},
                 {"d_model", model.width},
                 {"embedding_dropout", 0.0},
                 {"embedding_size", model.vocabulary},
                 {"eos_token_id", 0},
                 {"flash_attention", true},
                 {"include_bias", false},
                 {"init_cutoff_factor", nullptr},
                 {"init_device", "meta"},
                 {"init_fn", "mitchell"},
                 {"init_std", 0.02},
                 {"layer_norm_type", "default"},
                 {"layer_norm_with_affine", false},
                 {"max_sequence_length", model.positions},
                 {"mlp_hidden_size", 2 * model.inner},
                 {"mlp_ratio", 8},
                 {"model_type", "hf_olmo"},
                 {"multi_query_attention", false},
                 {"n_heads", model.heads},
                 {"n_kv_heads", model.kv_heads},
                 {"n_layers", model.blocks},
                 {"pad_token_id", 1},
                 {"precision", "amp_bf16"},
                 {"residual_dropout", 0.0},
                 {"rope", true},
                 {"rope_full_precision", true},
                 {"scale_logits", false},
                 {"transformers_version", "4.36.2"},
                 {"use_cache", true},
                 {"vocab_size", model.vocabulary - 3},
                 {"weight_tying", model.tied}};
  if (model.clip > 0.0) {
    config["clip_qkv"] = model.clip;
  }
  return config;
}

// The model's weights under the first names, each beginning with `prefix`.
void store_original(const TinyLlama& model, const std::string& prefix, MemorySource& source) {
  const auto add = [&](const std::string& name, const std::vector<std::string>& parts) {
    std::vector<double> values;
    std::vector<int64_t> shape = {0, 0};
    for (const std::string& part : parts) {
      const std::vector<double>& own = model.weights.at(part + ".weight");
      values.insert(values.end(), own.begin(), own.end());
      shape = {shape[0] + model.shapes.at(part + ".weight")[0],
               model.shapes.at(part + ".weight")[1]};
    }
    source.add(prefix + name + ".weight", shape, values, kit::kFloat32);
  };
  add("wte", {"model.embed_tokens"});
  if (!model.tied) {
    add("ff_out", {"lm_head"});
  }
  for (int64_t i = 0; i < model.blocks; ++i) {
    const std::string at = "model.layers." + std::to_string(i) + ".";
    const std::string block = "blocks." + std::to_string(i) + ".";
    add(block + "att_proj",
        {at + "self_attn.q_proj", at + "self_attn.k_proj", at + "self_attn.v_proj"});
    add(block + "attn_out", {at + "self_attn.o_proj"});
    add(block + "ff_proj", {at + "mlp.up_proj", at + "mlp.gate_proj"});
    add(block + "ff_out", {at + "mlp.down_proj"});
  }
}

void refuses_original(const std::string& key, const json& value, const std::string& message) {
  CAPTURE(key, value.dump());
  TinyLlama model = original_olmo();
  model.draw();
  MemorySource source;
  store_original(model, "model.transformer.", source);
  json config = original_config(model);
  if (value == "(erased)") {
    config.erase(key);
  } else {
    config[key] = value;
  }
  CHECK_THROWS_WITH(ModelDriver(config.dump(), source, kit::kFloat32), Catch::Contains(message));
}

}  // namespace

TEST_CASE("olmo: the first files' form is the same model", "[models][olmo]") {
  TinyLlama model = original_olmo();
  std::string prefix = "model.transformer.";
  SECTION("untied, every head with keys of its own") {}
  SECTION("tied, clamped, shared key heads") {
    model.tied = true;
    model.clip = 0.75;
    model.kv_heads = 2;
  }
  SECTION("as training wrote it, without the wrapper's prefix") {
    prefix = "transformer.";
  }
  model.draw();
  MemorySource later;
  model.store(later);
  MemorySource first;
  store_original(model, prefix, first);
  json config = original_config(model);
  const std::vector<double> wanted = logits_of(model, model.config(), later);
  CHECK(differences(logits_of(model, config, first), wanted) == "");
  config["model_type"] = "olmo";  // some files say so
  CHECK(differences(logits_of(model, config, first), wanted) == "");
  config["n_kv_heads"] = nullptr;
  config["mlp_hidden_size"] = nullptr;
  if (model.kv_heads == model.heads) {
    config["mlp_ratio"] = 4;  // 4 * 24 is not 2 * 40
    CHECK_THROWS_WITH(logits_of(model, config, first),
                      Catch::Contains("ff_proj.weight: wanted 96 rows, got shape [80, 24]"));
  } else {
    CHECK_THROWS_WITH(logits_of(model, config, first), Catch::Contains("att_proj.weight: wanted"));
  }
}

TEST_CASE("olmo: another forward of the first form is refused by key", "[models][olmo]") {
  refuses_original("alibi", true, "alibi true: wanted false");
  refuses_original("attention_layer_norm", true, "attention_layer_norm true");
  refuses_original("include_bias", true, "include_bias true");
  refuses_original("include_bias", "(erased)", "include_bias true (missing)");
  refuses_original("layer_norm_with_affine", true, "layer_norm_with_affine true");
  refuses_original("layer_norm_type", "rms", "layer_norm_type rms, wanted default");
  refuses_original("block_type", "llama", "block_type llama, wanted sequential");
  refuses_original("activation_type", "gelu", "activation_type gelu, wanted swiglu");
  refuses_original("rope", "(erased)", "rope false (missing): wanted true");
  refuses_original("norm_after", true, "norm_after true");
  refuses_original("scale_logits", true, "scale_logits true");
  refuses_original("embedding_size", "(erased)", "embedding_size is missing");
  refuses_original("emb_scale", 2.0, "emb_scale: not understood");
  refuses_original("block_group_size", 2, "block_group_size");
  refuses_original("clip_qkv", 0.0, "clip_qkv = 0, wanted more than 0");
  refuses_original("n_heads", 5, "n_heads 5");
}

TEST_CASE("olmo: a tensor that the first form does not have is refused", "[models][olmo]") {
  TinyLlama model = original_olmo();
  model.draw();
  MemorySource source;
  store_original(model, "model.transformer.", source);
  source.add("model.transformer.blocks.0.attn_norm.weight", {24}, std::vector<double>(24, 1.0),
             kit::kFloat32);
  CHECK_THROWS_WITH(logits_of(model, original_config(model), source),
                    Catch::Contains("unexpected model.transformer.blocks.0.attn_norm.weight"));
}

}  // namespace quench::test
