#include "models/olmo/original.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "models/decoder/config.hpp"
#include "models/decoder/llama_architecture.hpp"
#include "models/decoder/llama_config.hpp"

namespace quench::olmo {

namespace {

using decoder::LlamaModel;
using decoder::required_size;

constexpr std::array<std::string_view, 42> kKeys = {
    // The forward depends on these,
    "activation_type", "alibi", "attention_layer_norm", "bias_for_layer_norm", "block_group_size",
    "block_type", "clip_qkv", "d_model", "embedding_size", "include_bias", "layer_norm_eps",
    "layer_norm_type", "layer_norm_with_affine", "max_sequence_length", "mlp_hidden_size",
    "mlp_ratio", "multi_query_attention", "n_heads", "n_kv_heads", "n_layers", "norm_after", "rope",
    "rope_full_precision", "rope_theta", "scale_logits", "tie_word_embeddings", "vocab_size",
    "weight_tying",
    // and not on these: training, kernels, and settings of features that must be off.
    "alibi_bias_max", "attention_layer_norm_with_affine", "embedding_dropout", "emb_init_std",
    "flash_attention", "init_cutoff_factor", "init_device", "init_fn", "init_std", "precision",
    "residual_dropout", "scale_emb_init", "keys_to_ignore_at_inference", "max_position_embeddings"};

// The library omits values that equal its defaults, so a missing key means `otherwise`.
void require_only(const kit::Json& config, const char* key, bool only, bool otherwise) {
  if (config.boolean_or(std::string("/") + key, otherwise) != only) {
    kit::fail(QUENCH_UNSUPPORTED, "config: %s %s%s: wanted %s", key, only ? "false" : "true",
              config.has(std::string("/") + key) ? "" : " (missing)", only ? "true" : "false");
  }
}

void require_text(const kit::Json& config, const char* key, const char* only) {
  const std::string value = config.string_or(std::string("/") + key, only);
  if (value != only) {
    kit::fail(QUENCH_UNSUPPORTED, "config: %s %.60s, wanted %s", key, value.c_str(), only);
  }
}

void refuse_other_forwards(const kit::Json& config) {
  decoder::refuse_unknown_keys(config, "", kKeys);
  require_text(config, "activation_type", "swiglu");
  require_text(config, "block_type", "sequential");
  require_text(config, "layer_norm_type", "default");
  for (const char* key :
       {"alibi", "attention_layer_norm", "bias_for_layer_norm", "norm_after", "scale_logits"}) {
    require_only(config, key, false, false);
  }
  require_only(config, "include_bias", false, true);
  require_only(config, "layer_norm_with_affine", false, true);
  require_only(config, "rope", true, false);
  if (config.integer_or("/block_group_size", 1) != 1) {
    kit::fail(QUENCH_UNSUPPORTED, "config: block_group_size: wanted 1");
  }
}

int64_t inner_width(const kit::Json& config, int64_t width) {
  const int64_t both = config.has("/mlp_hidden_size")
                           ? required_size(config, "mlp_hidden_size", 2, 8 * decoder::kMaxWidth)
                           : width * required_size(config, "mlp_ratio", 1, 64);
  if (both % 2 != 0) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: mlp_hidden_size = %lld, wanted an even number",
              static_cast<long long>(both));
  }
  return both / 2;  // the other half is the gate
}

void read_heads(const kit::Json& config, LlamaModel& model) {
  model.heads = required_size(config, "n_heads", 1, model.width);
  model.kv_heads = config.has("/n_kv_heads") ? required_size(config, "n_kv_heads", 1, model.heads)
                   : config.boolean_or("/multi_query_attention", false) ? 1
                                                                        : model.heads;
  model.head_width = model.width / model.heads;
  if (model.width % (2 * model.heads) != 0 || model.heads % model.kv_heads != 0) {
    kit::fail(QUENCH_INVALID_ARGUMENT,
              "config: d_model %lld, n_heads %lld, %lld key-value heads: wanted heads of an even "
              "width, and the same number for each key-value head",
              static_cast<long long>(model.width), static_cast<long long>(model.heads),
              static_cast<long long>(model.kv_heads));
  }
}

// "blocks.12.att_proj.weight" -> 12 and "att_proj.weight"; -1 for any other name.
int64_t split_block(std::string_view name, std::string_view& rest) {
  constexpr std::string_view kBlocks = "blocks.";
  if (!name.starts_with(kBlocks)) {
    return -1;
  }
  name.remove_prefix(kBlocks.size());
  int64_t block = -1;
  const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), block);
  rest = name.substr(static_cast<size_t>(end - name.data()));
  if (fault != std::errc() || !rest.starts_with('.')) {
    return -1;
  }
  rest.remove_prefix(1);
  return block;
}

struct Part {
  const char* name;
  int64_t rows;
};

// Adds each part of a fused weight as a tensor of its own.
void unfuse(decoder::RenamedSource& source, uint64_t index, const std::string& block,
            const std::vector<Part>& parts) {
  const quench_tensor_info info = source.base().info(index);
  int64_t total = 0;
  for (const Part& part : parts) {
    total += part.rows;
  }
  if (info.dimensions != 2 || info.shape[0] != total) {
    kit::fail(QUENCH_DATA_LOSS, "%.120s: wanted %lld rows, got shape %s", info.name,
              static_cast<long long>(total),
              kit::shape_text({info.shape, static_cast<size_t>(info.dimensions)}).c_str());
  }
  int64_t first = 0;
  for (const Part& part : parts) {
    source.add_rows(block + part.name + ".weight", index, first, part.rows);
    first += part.rows;
  }
}

bool rename_in_block(const LlamaModel& model, decoder::RenamedSource& source, uint64_t index,
                     int64_t number, std::string_view name) {
  const std::string block = decoder::llama_block(number);
  if (name == "att_proj.weight") {
    unfuse(source, index, block,
           {{"self_attn.q_proj", model.query_width()},
            {"self_attn.k_proj", model.key_width()},
            {"self_attn.v_proj", model.key_width()}});
  } else if (name == "attn_out.weight") {
    source.add(block + "self_attn.o_proj.weight", index);
  } else if (name == "ff_proj.weight") {
    unfuse(source, index, block, {{"mlp.up_proj", model.inner}, {"mlp.gate_proj", model.inner}});
  } else if (name == "ff_out.weight") {
    source.add(block + "mlp.down_proj.weight", index);
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool is_original(const kit::Json& config) {
  const std::string type = config.string_or("/model_type", "");
  return type == "hf_olmo" || (type == "olmo" && config.has("/d_model"));
}

void tell_unknown_original_keys(const kit::Json& config) {
  decoder::tell_unknown_keys(config, kKeys);
}

LlamaModel read_original(const kit::Json& config) {
  refuse_other_forwards(config);
  LlamaModel model{};
  model.blocks = required_size(config, "n_layers", 1, decoder::kMaxBlocks);
  model.width = required_size(config, "d_model", 1, decoder::kMaxWidth);
  read_heads(config, model);
  model.inner = inner_width(config, model.width);
  // The embedding is padded to a round number of rows.
  const bool padded = config.type("/embedding_size") != QUENCH_JSON_NULL;
  model.vocabulary =
      required_size(config, padded ? "embedding_size" : "vocab_size", 1, decoder::kMaxVocabulary);
  model.max_positions = required_size(config, "max_sequence_length", 1, decoder::kMaxPositions);
  model.rope = decoder::read_rope(config, 10000.0);
  model.norm_eps = config.has("/layer_norm_eps") ? config.number("/layer_norm_eps") : 1e-5;
  if (!(model.norm_eps > 0.0 && model.norm_eps < 1.0)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: layer_norm_eps = %g, wanted (0, 1)",
              model.norm_eps);
  }
  model.tied = config.boolean_or("/weight_tying", true);
  model.wide_rotation = config.boolean_or("/rope_full_precision", true);
  model.clip_qkv = decoder::read_clip(config);
  model.norm = LlamaModel::Norm::kLayerWithoutWeights;
  return model;
}

void rename_original(const LlamaModel& model, decoder::RenamedSource& source) {
  for (uint64_t index = 0; index < source.base().count(); ++index) {
    const std::string stored = source.base().info(index).name;
    std::string_view name = stored;
    for (const std::string_view prefix : {"model.", "transformer."}) {
      name.remove_prefix(name.starts_with(prefix) ? prefix.size() : 0);
    }
    std::string_view rest;
    const int64_t block = split_block(name, rest);
    if (name == "wte.weight") {
      source.add("model.embed_tokens.weight", index);
    } else if (name == "ff_out.weight") {
      source.add("lm_head.weight", index);
    } else if (block < 0 || !rename_in_block(model, source, index, block, rest)) {
      source.add(stored, index);
    }
  }
}

}  // namespace quench::olmo
