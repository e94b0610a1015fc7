#include "tests/regression/gguf_twins.hpp"

#include <fstream>
#include <map>
#include <regex>
#include <vector>

#include "core/arithmetic/convert_float.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors_writer.hpp"
#include "tests/plugins/formats/gguf/gguf_file.hpp"

namespace quench::test {

namespace {

using json = nlohmann::json;

struct Weight {
  std::vector<int64_t> shape;
  quench_dtype dtype{};
  std::string bytes;
};

Weight read_weight(const TensorSource& source, uint64_t index) {
  Weight weight;
  weight.shape = source.info(index).shape;
  weight.dtype = weight.shape.size() > 1 ? kFloat16 : kFloat32;
  const std::vector<float> values = read_float32(source, index);
  const std::vector<double> wide(values.begin(), values.end());
  weight.bytes.resize(values.size() * dtype_size(weight.dtype));
  from_float64(wide.data(), wide.size(), weight.dtype, weight.bytes.data());
  return weight;
}

// LlamaModel.permute of the converter:
// reshape(heads, 2, rows / heads / 2, ...).swapaxes(1, 2).reshape(rows, ...)
std::string permuted(const Weight& weight, size_t heads) {
  const auto rows = static_cast<size_t>(weight.shape[0]);
  const size_t row_bytes = weight.bytes.size() / rows;
  const size_t half = rows / heads / 2;
  std::string out;
  for (size_t head = 0; head < heads; ++head) {
    for (size_t i = 0; i < half; ++i) {
      for (size_t part = 0; part < 2; ++part) {
        out += weight.bytes.substr(((head * 2 + part) * half + i) * row_bytes, row_bytes);
      }
    }
  }
  return out;
}

// The name in a GGUF file, without ".weight".
std::string gguf_name(const std::string& name, const std::string& type) {
  static const std::map<std::string, std::string> kNames = {
      {"model.embed_tokens", "token_embd"},
      {"model.norm", "output_norm"},
      {"lm_head", "output"},
      {"input_layernorm", "attn_norm"},
      {"attention_layernorm", "attn_norm"},
      {"feedforward_layernorm", "ffn_norm"},
      {"post_feedforward_layernorm", "post_ffw_norm"},
      {"self_attn.q_proj", "attn_q"},
      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},
      {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"},
      {"self_attn.k_norm", "attn_k_norm"},
      {"mlp.gate_proj", "ffn_gate"},
      {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"}};
  static const std::regex kBlock("model\\.layers\\.(\\d+)\\.(.*)");
  std::smatch match;
  if (!std::regex_match(name, match, kBlock)) {
    return kNames.at(name);
  }
  const std::string block = "blk." + match[1].str() + ".";
  if (match[2] == "post_attention_layernorm") {
    return block + (type == "olmo2" ? "post_attention_norm" : "ffn_norm");
  }
  return block + kNames.at(match[2]);
}

void add_metadata(GgufFile& file, const json& config) {
  const std::string type = config.at("model_type");
  file.add("general.architecture", type.c_str());
  const auto add_count = [&](const char* key, const char* from) {
    file.add(type + "." + key, config.at(from).get<uint32_t>());
  };
  add_count("block_count", "num_hidden_layers");
  add_count("context_length", "max_position_embeddings");
  add_count("embedding_length", "hidden_size");
  add_count("feed_forward_length", "intermediate_size");
  add_count("attention.head_count", "num_attention_heads");
  add_count("attention.head_count_kv", "num_key_value_heads");
  file.add(type + ".rope.freq_base", config.at("rope_theta").get<float>());
  if (type == "olmo") {
    file.add("olmo.attention.layer_norm_epsilon", 1e-5F);
    if (config.contains("clip_qkv") && !config.at("clip_qkv").is_null()) {
      file.add("olmo.attention.clamp_kqv", config.at("clip_qkv").get<float>());
    }
  } else {
    file.add(type + ".attention.layer_norm_rms_epsilon", config.at("rms_norm_eps").get<float>());
  }
}

bool is_activation(const std::string& name) {
  return name.find(".mlp.act_fn.") != std::string::npos;
}

// xIELU's coefficients, one a block.
void add_activations(GgufFile& file, const TensorSource& weights, const json& config) {
  for (const char* part : {"alpha_p", "alpha_n", "beta", "eps"}) {
    std::vector<float> values;
    for (int block = 0; block < config.at("num_hidden_layers"); ++block) {
      values.push_back(
          read_float32(weights, weights.index_of("model.layers." + std::to_string(block) +
                                                 ".mlp.act_fn." + part))
              .at(0));
    }
    file.add(std::string("xielu.") + part, values);
  }
}

// Indices of what is written: a tied head is not.
std::vector<uint64_t> written(const TensorSource& weights, const json& config) {
  std::vector<uint64_t> indices;
  for (uint64_t i = 0; i < weights.count(); ++i) {
    const std::string& name = weights.info(i).name;
    const bool buffer = name.ends_with("rotary_emb.inv_freq");
    if (!buffer && !(config.at("tie_word_embeddings") && name == "lm_head.weight")) {
      indices.push_back(i);
    }
  }
  return indices;
}

}  // namespace

std::string gguf_of(const TensorSource& weights, const json& config) {
  const std::string type = config.at("model_type");
  const bool permutes = type == "llama" || type == "olmo" || type == "smollm3";
  GgufFile file;
  add_metadata(file, config);
  if (type == "apertus") {
    add_activations(file, weights, config);
  }
  for (const uint64_t index : written(weights, config)) {
    const std::string& full = weights.info(index).name;
    if (is_activation(full)) {
      continue;
    }
    const std::string suffix = ".weight";
    const std::string name = full.substr(0, full.size() - suffix.size());
    Weight weight = read_weight(weights, index);
    if (permutes && (name.ends_with("q_proj") || name.ends_with("k_proj"))) {
      weight.bytes = permuted(weight, config.at(name.ends_with("q_proj") ? "num_attention_heads"
                                                                         : "num_key_value_heads"));
    }
    file.tensor(gguf_name(name, type) + suffix, {weight.shape.begin(), weight.shape.end()},
                weight.dtype.bits == 16 ? kGgufF16 : kGgufF32, weight.bytes);
  }
  return file.bytes();
}

void write_float16_folder(const TensorSource& weights, const json& config,
                          const std::filesystem::path& folder) {
  const std::vector<uint64_t> indices = written(weights, config);
  SafetensorsWriter writer(folder / "model.safetensors");
  for (uint64_t i = 0; i < indices.size(); ++i) {
    const Weight weight = read_weight(weights, indices[i]);
    writer.declare({weights.info(indices[i]).name, weight.dtype, weight.shape, i});
  }
  for (const uint64_t index : indices) {
    const Weight weight = read_weight(weights, index);
    writer.write(weight.bytes.data(), weight.bytes.size());
  }
  writer.finish();
  std::ofstream(folder / "config.json") << config.dump(1);
}

}  // namespace quench::test
