#include "models/decoder/llama_config.hpp"

#include <array>
#include <string>
#include <vector>

#include "models/decoder/config.hpp"
#include "models/decoder/nearness.hpp"

namespace quench::decoder {

namespace {

constexpr std::array<std::string_view, 15> kUnderstood = {
    "attention_bias",      "head_dim",
    "hidden_act",          "hidden_size",
    "intermediate_size",   "max_position_embeddings",
    "num_attention_heads", "num_hidden_layers",
    "num_key_value_heads", "rope_interleaved",
    "rope_parameters",     "rope_scaling",
    "rope_theta",          "tie_word_embeddings",
    "vocab_size"};

constexpr std::array<std::string_view, 4> kWindows = {"layer_types", "max_window_layers",
                                                      "sliding_window", "use_sliding_window"};

constexpr std::array<std::string_view, 7> kRequired = {
    "hidden_size",         "intermediate_size", "max_position_embeddings",
    "num_attention_heads", "num_hidden_layers", "rms_norm_eps",
    "vocab_size"};

std::vector<std::string_view> understood_keys(const LlamaDialect& dialect) {
  std::vector<std::string_view> understood(kUnderstood.begin(), kUnderstood.end());
  understood.insert(understood.end(), dialect.more.begin(), dialect.more.end());
  if (dialect.has_rms_eps) {
    understood.emplace_back("rms_norm_eps");
  }
  if (dialect.repeats_eps) {
    understood.emplace_back("layer_norm_eps");
  }
  if (dialect.has_mlp_bias) {
    understood.emplace_back("mlp_bias");
  }
  if (dialect.has_window_rope) {
    understood.emplace_back("rope_local_base_freq");
  }
  if (dialect.has_windows || dialect.reads_windows) {
    understood.insert(understood.end(), kWindows.begin(), kWindows.end());
  }
  return understood;
}

void check_keys(const kit::Json& config, const LlamaDialect& dialect) {
  const std::string type = config.string_or("/model_type", "");
  const std::string wanted(dialect.model_type);
  if (type != wanted) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: model_type %.60s, wanted %s", type.c_str(),
              wanted.c_str());
  }
  refuse_unknown_keys(config, "", understood_keys(dialect));
  const std::string activation(dialect.activation);
  const std::string act = config.string_or("/hidden_act", activation);
  if (act != activation) {
    kit::fail(QUENCH_UNSUPPORTED, "config: hidden_act %.60s, wanted %s", act.c_str(),
              activation.c_str());
  }
  require_boolean(config, "rope_interleaved", false);  // that is, the two halves of a head rotate
  if (dialect.has_windows) {
    refuse_windows(config);
  }
}

void read_heads(const kit::Json& config, LlamaModel& model) {
  model.heads = required_size(config, "num_attention_heads", 1, model.width);
  model.kv_heads = config.has("/num_key_value_heads")
                       ? required_size(config, "num_key_value_heads", 1, model.heads)
                       : model.heads;
  if (model.heads % model.kv_heads != 0) {
    kit::fail(QUENCH_INVALID_ARGUMENT,
              "config: num_attention_heads %lld is no multiple of %lld key-value heads",
              static_cast<long long>(model.heads), static_cast<long long>(model.kv_heads));
  }
  if (config.has("/head_dim")) {
    model.head_width = required_size(config, "head_dim", 1, kMaxWidth / model.heads);
  } else if (model.width % model.heads == 0) {
    model.head_width = model.width / model.heads;
  } else {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: hidden_size %lld is no multiple of %lld heads",
              static_cast<long long>(model.width), static_cast<long long>(model.heads));
  }
  if (model.head_width % 2 != 0) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: head_dim = %lld, wanted an even number",
              static_cast<long long>(model.head_width));
  }
}

// Transformers 5 writes one object for each type of block where these differ.
void read_ropes(const kit::Json& config, const LlamaDialect& dialect, LlamaModel& model) {
  const std::string at = "/rope_parameters";
  if (!dialect.has_window_rope) {
    model.rope = read_rope(config, dialect.usual_theta);
  } else if (config.has(at + "/full_attention")) {
    model.rope = read_rope(config, dialect.usual_theta, at + "/full_attention");
    model.window_rope = read_rope(config, std::nullopt, at + "/sliding_attention");
  } else {
    model.rope = read_rope(config, dialect.usual_theta);
    model.window_rope.emplace();
    model.window_rope->theta =
        checked_theta(config.number_or("/rope_local_base_freq", 10000.0), "rope_local_base_freq");
  }
}

}  // namespace

kit::Fit llama_nearness(const kit::Json& config, const LlamaDialect& dialect) {
  return nearness(config, {dialect.model_type, understood_keys(dialect), kRequired, dialect.more});
}

LlamaModel read_llama_config(const kit::Json& config, const LlamaDialect& dialect) {
  check_keys(config, dialect);
  LlamaModel model{};
  model.blocks = required_size(config, "num_hidden_layers", 1, kMaxBlocks);
  model.width = required_size(config, "hidden_size", 1, kMaxWidth);
  read_heads(config, model);
  model.inner = required_size(config, "intermediate_size", 1, 4 * kMaxWidth);
  model.vocabulary = required_size(config, "vocab_size", 1, kMaxVocabulary);
  model.max_positions = required_size(config, "max_position_embeddings", 1, kMaxPositions);
  read_ropes(config, dialect, model);
  model.norm_eps = 1e-5;  // the default of families that lack the key
  if (dialect.has_rms_eps) {
    if (!config.has("/rms_norm_eps")) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "config: rms_norm_eps is missing");
    }
    model.norm_eps = config.number("/rms_norm_eps");
  }
  if (!(model.norm_eps > 0.0 && model.norm_eps < 1.0)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: rms_norm_eps = %g, wanted (0, 1)", model.norm_eps);
  }
  if (dialect.repeats_eps &&
      config.number_or("/layer_norm_eps", model.norm_eps) != model.norm_eps) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: layer_norm_eps = %g, wanted rms_norm_eps, %g",
              config.number("/layer_norm_eps"), model.norm_eps);
  }
  model.attention_bias = config.boolean_or("/attention_bias", false);
  model.output_bias = model.attention_bias;
  model.mlp_bias = dialect.has_mlp_bias && config.boolean_or("/mlp_bias", false);
  model.tied = config.boolean_or("/tie_word_embeddings", dialect.usually_tied);
  model.initializer_range = initializer_range(config);
  return model;
}

void tell_unknown_keys(const kit::Json& config, const LlamaDialect& dialect) {
  tell_unknown_keys(config, understood_keys(dialect));
}

void refuse_windows(const kit::Json& config) {
  require_boolean(config, "use_sliding_window", false);
  for (uint64_t i = 0; i < config.size("/layer_types"); ++i) {
    const std::string type = config.string("/layer_types/" + std::to_string(i));
    if (type != "full_attention") {
      kit::fail(QUENCH_UNSUPPORTED, "config: layer_types: %.60s, wanted full_attention",
                type.c_str());
    }
  }
}

std::vector<int64_t> read_windows(const kit::Json& config, int64_t blocks,
                                  const std::function<bool(int64_t block)>& usual) {
  const bool listed = config.has("/layer_types");
  if (listed && config.size("/layer_types") != static_cast<uint64_t>(blocks)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: layer_types: wanted a list of %lld types",
              static_cast<long long>(blocks));
  }
  std::vector<int64_t> windows;
  for (int64_t i = 0; i < blocks; ++i) {
    const std::string type = listed
                                 ? config.string("/layer_types/" + std::to_string(i))
                                 : std::string(usual(i) ? "sliding_attention" : "full_attention");
    if (type != "sliding_attention" && type != "full_attention") {
      kit::fail(QUENCH_UNSUPPORTED,
                "config: layer_types: %.60s, wanted full_attention or sliding_attention",
                type.c_str());
    }
    windows.push_back(
        type == "full_attention" ? 0 : required_size(config, "sliding_window", 1, kMaxPositions));
  }
  return windows;
}

std::vector<int64_t> read_upper_windows(const kit::Json& config, int64_t blocks) {
  if (!config.boolean_or("/use_sliding_window", false)) {
    refuse_windows(config);
    return {};
  }
  const int64_t first = required_size(config, "max_window_layers", 0, kMaxBlocks);
  return read_windows(config, blocks, [&](int64_t block) { return block >= first; });
}

std::optional<double> read_clip(const kit::Json& config) {
  if (!config.has("/clip_qkv")) {
    return std::nullopt;
  }
  const double clip = config.number("/clip_qkv");
  if (!(clip > 0.0)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: clip_qkv = %g, wanted more than 0", clip);
  }
  return clip;
}

void require_boolean(const kit::Json& config, const char* key, bool only) {
  if (config.boolean_or(std::string("/") + key, only) != only) {
    kit::fail(QUENCH_UNSUPPORTED, "config: %s %s: this family does not have it", key,
              only ? "false" : "true");
  }
}

}  // namespace quench::decoder
