#include <cmath>
#include <random>

#include "tests/plugins/models/tiny_llama.hpp"

namespace quench::test {

void TinyLlama::draw_tensor(const std::string& name, std::vector<int64_t> shape, double center,
                            double spread) {
  std::mt19937 engine(static_cast<uint32_t>(17 + weights.size()));
  int64_t count = 1;
  for (const int64_t size : shape) {
    count *= size;
  }
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    const double unit = static_cast<double>(engine() % 2001) / 1000.0 - 1.0;
    values.push_back(center + std::nearbyint(unit * spread * 1024.0) / 1024.0);
  }
  weights[name] = values;
  shapes[name] = std::move(shape);
}

void TinyLlama::draw_linear(const std::string& name, int64_t out, int64_t in, bool bias) {
  draw_tensor(name + ".weight", {out, in}, 0.0, 0.4);
  if (bias) {
    draw_tensor(name + ".bias", {out}, 0.0, 0.5);
  }
}

void TinyLlama::draw_mlp(const std::string& at) {
  if (xielu) {
    draw_tensor(at + "act_fn.alpha_p", {1}, 0.2, 0.5);
    draw_tensor(at + "act_fn.alpha_n", {1}, -1.0, 0.5);
    if (xielu_beta != 0.5) {
      draw_tensor(at + "act_fn.beta", {}, xielu_beta, 0.0);
      draw_tensor(at + "act_fn.eps", {}, xielu_eps, 0.0);
    }
  } else {
    draw_linear(at + "gate_proj", inner, width, mlp_bias);
  }
  draw_linear(at + "up_proj", inner, width, mlp_bias);
  draw_linear(at + "down_proj", width, inner, mlp_bias);
}

TinyLlama& TinyLlama::draw() {
  weights.clear();
  shapes.clear();
  draw_tensor("model.embed_tokens.weight", {vocabulary, width}, 0.0, embedding_spread);
  for (int64_t i = 0; i < blocks; ++i) {
    const std::string block = "model.layers." + std::to_string(i) + ".";
    const std::string attention = block + "self_attn.";
    draw_linear(attention + "q_proj", heads * head, width, attention_bias);
    draw_linear(attention + "k_proj", kv_heads * head, width, attention_bias);
    draw_linear(attention + "v_proj", kv_heads * head, width, attention_bias);
    draw_linear(attention + "o_proj", width, heads * head, attention_bias);
    if (head_norm != 0) {
      draw_tensor(attention + "q_norm.weight", {head_norm}, 1.0, 0.5);
      draw_tensor(attention + "k_norm.weight", {head_norm == head ? head : kv_heads * head}, 1.0,
                  0.5);
    }
    if (!layer_norm_without_weights) {
      draw_tensor(block + attention_norm + ".weight", {width}, 1.0, 0.5);
      draw_tensor(block + mlp_norm + ".weight", {width}, 1.0, 0.5);
    }
    for (int64_t e = 0; e < experts; ++e) {
      draw_mlp(block + "mlp.experts." + std::to_string(e) + ".");
    }
    if (experts > 0) {
      // wide apart, so that bfloat16 picks the same experts
      draw_tensor(block + "mlp.gate.weight", {experts, width}, 0.0, 4.0);
    } else {
      draw_mlp(block + "mlp.");
    }
  }
  if (!layer_norm_without_weights) {
    draw_tensor("model.norm.weight", {width}, 1.0, 0.5);
  }
  if (!tied) {
    draw_tensor("lm_head.weight", {vocabulary, width}, 0.0, 0.5);
  }
  return *this;
}

nlohmann::json TinyLlama::config() const {
  nlohmann::json config = {{"model_type", model_type},
                           {"num_hidden_layers", blocks},
                           {"hidden_size", width},
                           {"num_attention_heads", heads},
                           {"num_key_value_heads", kv_heads},
                           {"intermediate_size", inner},
                           {"vocab_size", vocabulary},
                           {"max_position_embeddings", positions},
                           {"rope_theta", theta},
                           {"rope_scaling", nullptr},
                           {"attention_bias", attention_bias},
                           {"tie_word_embeddings", tied}};
  if (head * heads != width) {
    config["head_dim"] = head;
  }
  if (!layer_norm_without_weights) {
    config["rms_norm_eps"] = eps;
  }
  if (mlp_bias) {
    config["mlp_bias"] = true;
  }
  if (clip > 0.0) {
    config["clip_qkv"] = clip;
  }
  if (experts > 0) {
    config["num_experts"] = experts;
    config["num_experts_per_tok"] = picks;
    config["norm_topk_prob"] = sum_to_one;
  }
  if (llama3) {
    config["rope_scaling"] = {{"rope_type", "llama3"},
                              {"factor", 8.0},
                              {"low_freq_factor", 1.0},
                              {"high_freq_factor", 4.0},
                              {"original_max_position_embeddings", 16}};
  }
  if (!rotated.empty()) {
    config["no_rope_layers"] = rotated;
  }
  config.update(more);
  return config;
}

void TinyLlama::store(MemorySource& source, quench_dtype dtype) const {
  for (const auto& [name, values] : weights) {
    source.add(name, shapes.at(name), values, dtype);
  }
}

Tokens TinyLlama::some_tokens(int64_t rows, int64_t length) const {
  Tokens tokens{rows, length, {}};
  for (int64_t i = 0; i < rows * length; ++i) {
    tokens.ids.push_back(static_cast<int32_t>((i * i * 7 + i * 5 + 3) % vocabulary));
  }
  return tokens;
}

}  // namespace quench::test
