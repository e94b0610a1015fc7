#include "formats/gguf/config.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "formats/gguf/rope.hpp"
#include "quench/kit/error.hpp"

namespace quench::gguf {

namespace {

// Keys of every architecture, after its name and a dot.
constexpr std::array<std::string_view, 21> kKeys = {
    "attention.causal",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.layer_norm_epsilon",
    "attention.layer_norm_rms_epsilon",
    "attention.value_length",
    "block_count",
    "context_length",
    "embedding_length",
    "expert_count",
    "expert_used_count",
    "feed_forward_length",
    "rope.dimension_count",
    "rope.freq_base",
    "rope.scale_linear",
    "rope.scaling.factor",
    "rope.scaling.original_context_length",  // of yarn, which is refused
    "rope.scaling.finetuned",
    "rope.scaling.type",
    "vocab_size"};

// Bookkeeping: what the rows of q and k came from, the number of the file's type.
constexpr std::array<std::string_view, 1> kHarmless = {"tensor_data_layout"};

class Keys {
 public:
  Keys(const Metadata& metadata, const Architecture& architecture)
      : metadata_(&metadata), prefix_(std::string(architecture.id) + ".") {}

  std::string of(std::string_view key) const { return prefix_ + std::string(key); }
  const Metadata& metadata() const { return *metadata_; }

  uint64_t count(std::string_view key) const {
    const auto value = metadata_->count(of(key));
    if (!value) {
      metadata_->refuse(QUENCH_DATA_LOSS, of(key), "missing");
    }
    if (*value < 1 || *value > kMaxSize) {
      metadata_->refuse(QUENCH_DATA_LOSS, of(key),
                        std::to_string(*value) + ", wanted 1.." + std::to_string(kMaxSize));
    }
    return *value;
  }
  uint64_t count_or(std::string_view key, uint64_t otherwise) const {
    return metadata_->has(of(key)) ? count(key) : otherwise;
  }
  double number(std::string_view key) const {
    const auto value = metadata_->number(of(key));
    if (!value) {
      metadata_->refuse(QUENCH_DATA_LOSS, of(key), "missing");
    }
    return *value;
  }
  // Throws unless the key is missing or has this value.
  void require(std::string_view key, uint64_t wanted, quench_status code, const char* why) const {
    const uint64_t got = metadata_->count(of(key)).value_or(wanted);
    if (got != wanted) {
      metadata_->refuse(code, of(key),
                        std::to_string(got) + ", wanted " + std::to_string(wanted) + why);
    }
  }

 private:
  static constexpr uint64_t kMaxSize = uint64_t{1} << 30;
  const Metadata* metadata_;
  std::string prefix_;
};

// Adapters, parts of a model, and blocks that are laid out otherwise.
void refuse_other_files(const Metadata& metadata) {
  constexpr uint64_t kBlockLayout = 2;
  const std::string type = metadata.text("general.type").value_or("model");
  if (type != "model") {
    metadata.refuse(QUENCH_UNSUPPORTED, "general.type", shown(type) + ", wanted model");
  }
  if (metadata.count("split.count").value_or(1) > 1) {
    metadata.refuse(QUENCH_UNSUPPORTED, "split.count",
                    "one of several files, wanted a whole one (llama-gguf-split --merge)");
  }
  const uint64_t layout = metadata.count("general.quantization_version").value_or(kBlockLayout);
  if (layout != kBlockLayout) {
    metadata.refuse(QUENCH_UNSUPPORTED, "general.quantization_version",
                    std::to_string(layout) + ", wanted " + std::to_string(kBlockLayout));
  }
}

void refuse_unknown_keys(const Keys& keys, const Architecture& architecture) {
  const std::string prefix = keys.of("");
  const auto has = [](const auto& list, std::string_view key) {
    return std::find(list.begin(), list.end(), key) != list.end();
  };
  for (const std::string& key : keys.metadata().keys()) {
    if (!key.starts_with(prefix)) {
      continue;
    }
    const std::string_view own = std::string_view(key).substr(prefix.size());
    if (!has(kKeys, own) && !has(kHarmless, own) && !has(architecture.keys, own)) {
      keys.metadata().refuse(QUENCH_UNSUPPORTED, key,
                             "not understood, and might change what the model computes");
    }
  }
}

void refuse_other_forwards(const Keys& keys, const TensorFacts& facts) {
  keys.require("expert_count", 0, QUENCH_UNSUPPORTED, ": mixtures of experts are not read");
  keys.require("vocab_size", facts.vocabulary, QUENCH_DATA_LOSS, ", the rows of token_embd.weight");
  if (!keys.metadata().boolean(keys.of("attention.causal")).value_or(true)) {
    keys.metadata().refuse(QUENCH_UNSUPPORTED, keys.of("attention.causal"), "false, wanted true");
  }
}

void add_sizes(nlohmann::json& config, const Keys& keys, const Dimensions& dimensions,
               const TensorFacts& facts) {
  config["vocab_size"] = facts.vocabulary;
  config["hidden_size"] = dimensions.width;
  config["intermediate_size"] = keys.count("feed_forward_length");
  config["num_hidden_layers"] = dimensions.blocks;
  config["num_attention_heads"] = dimensions.heads;
  config["max_position_embeddings"] = keys.count("context_length");
  config["tie_word_embeddings"] = facts.tied;
}

void add_attention(nlohmann::json& config, const Keys& keys, const Architecture& architecture,
                   const Dimensions& dimensions, const TensorFacts& facts) {
  config["num_key_value_heads"] = dimensions.kv_heads;
  config["head_dim"] = dimensions.head_width;
  keys.require("rope.dimension_count", dimensions.head_width, QUENCH_UNSUPPORTED,
               ", the width of a head");
  const double theta = rope_theta(keys.metadata(), std::string(architecture.id));
  config["rope_theta"] = theta;
  config["rope_scaling"] =
      rope_scaling(keys.metadata(), std::string(architecture.id), facts.rope_divisors, theta,
                   static_cast<int64_t>(dimensions.head_width));
  config["attention_bias"] = facts.attention_bias;
}

// What only one family has.
void add_own_members(nlohmann::json& config, const Keys& keys, const Architecture& architecture,
                     const TensorFacts& facts) {
  constexpr double kOlmoEpsilon = 1e-5;     // built into the family
  constexpr uint64_t kSmolLm3Interval = 4;  // built into llama.cpp: no key says it
  const bool olmo = architecture.id == "olmo";
  if (!olmo) {
    config["rms_norm_eps"] = keys.number("attention.layer_norm_rms_epsilon");
  } else if (keys.number("attention.layer_norm_epsilon") != kOlmoEpsilon) {
    keys.metadata().refuse(QUENCH_UNSUPPORTED, keys.of("attention.layer_norm_epsilon"),
                           "wanted 1e-05");
  }
  const double clamp = keys.metadata().number(keys.of("attention.clamp_kqv")).value_or(0.0);
  if (clamp > 0.0) {
    config["clip_qkv"] = clamp;
  }
  if (architecture.id == "smollm3") {
    config["no_rope_layer_interval"] = kSmolLm3Interval;
  }
  if (architecture.id == "llama" || architecture.id == "smollm3") {
    config["mlp_bias"] = facts.mlp_bias;
  }
}

}  // namespace

const Architecture& read_architecture(const Metadata& metadata) {
  refuse_other_files(metadata);
  const auto id = metadata.text("general.architecture");
  if (!id) {
    metadata.refuse(QUENCH_DATA_LOSS, "general.architecture", "missing");
  }
  const Architecture* architecture = find_architecture(*id);
  if (architecture == nullptr) {
    metadata.refuse(QUENCH_UNSUPPORTED, "general.architecture",
                    shown(*id) + ", wanted one of " + names_of_architectures());
  }
  return *architecture;
}

Dimensions read_dimensions(const Metadata& metadata, const Architecture& architecture) {
  const Keys keys(metadata, architecture);
  Dimensions dimensions{};
  dimensions.blocks = keys.count("block_count");
  dimensions.width = keys.count("embedding_length");
  dimensions.heads = keys.count("attention.head_count");
  dimensions.kv_heads = keys.count_or("attention.head_count_kv", dimensions.heads);
  if (!metadata.has(keys.of("attention.key_length")) && dimensions.width % dimensions.heads != 0) {
    metadata.refuse(QUENCH_DATA_LOSS, keys.of("embedding_length"),
                    std::to_string(dimensions.width) + ", wanted a multiple of " +
                        std::to_string(dimensions.heads) + " heads");
  }
  dimensions.head_width =
      keys.count_or("attention.key_length", dimensions.width / dimensions.heads);
  keys.require("attention.value_length", dimensions.head_width, QUENCH_UNSUPPORTED,
               ", as wide as a key");
  if (dimensions.head_width % 2 != 0) {
    metadata.refuse(
        QUENCH_DATA_LOSS, keys.of("attention.key_length"),
        "heads of width " + std::to_string(dimensions.head_width) + ", wanted an even number");
  }
  return dimensions;
}

std::string config_json(const Metadata& metadata, const Architecture& architecture,
                        const Dimensions& dimensions, const TensorFacts& facts) {
  const Keys keys(metadata, architecture);
  refuse_unknown_keys(keys, architecture);
  refuse_other_forwards(keys, facts);
  nlohmann::json config;
  config["architectures"] = {architecture.class_name};
  config["model_type"] = architecture.model_type;
  config["hidden_act"] = architecture.activation;
  add_sizes(config, keys, dimensions, facts);
  add_attention(config, keys, architecture, dimensions, facts);
  add_own_members(config, keys, architecture, facts);
  return config.dump();
}

}  // namespace quench::gguf
