// A family joins with its config and the shapes of its tensors.
#include "tests/contract/small_models.hpp"

#include <stdexcept>
#include <utility>

#include "tests/contract/tensors.hpp"

namespace quench::test {

namespace {

using Shapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

SmallModel drawn(std::string config, const Shapes& shapes) {
  SmallModel model{std::move(config), {}};
  for (const auto& [name, shape] : shapes) {
    size_t count = 1;
    for (const int64_t extent : shape) {
      count *= static_cast<size_t>(extent);
    }
    model.tensors.push_back({name, shape, numbers<double>(model.tensors.size() + 1, count)});
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

}  // namespace

SmallModel small_model(const std::string& id) {
  if (id == "template_model") {
    return template_model();
  }
  if (id == "gpt_neox") {
    return gpt_neox();
  }
  throw std::runtime_error("tests/contract/small_models.cpp: no small model of family " + id);
}

}  // namespace quench::test
