// The tensors of a GPT-NeoX model and the stages of its blocks.
//
//   stage 0:  x = LN1(h)
//   stage 1:  x = attention(query_key_value x)
//   stage 2:  parallel:   a = dense x;            x = LN2(h)
//             sequential: h = dense x + h;        x = LN2(h)
//   stage 3:  x = gelu(dense_h_to_4h x)
//   stage 4:  parallel:   h = (dense_4h_to_h x + a) + h
//             sequential: h = dense_4h_to_h x + h
//
// The parallel block carries `attention` (a) separately, because the reference first adds it to the
// output of the MLP; another order rounds differently.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/gpt_neox/config.hpp"

namespace quench::gpt_neox {

namespace {

using decoder::BlockSpec;
using decoder::CarrySpec;
using decoder::GroupSpec;
using decoder::SiteSpec;
using decoder::WeightSpec;
using RowMap = std::shared_ptr<const std::vector<int64_t>>;

constexpr const char* kPrefix = "gpt_neox.";

// Files of the base model omit the prefix.
void add(std::vector<WeightSpec>& weights, const std::string& name, std::vector<int64_t> shape,
         int32_t role) {
  weights.push_back({kPrefix + name, std::move(shape), role, {name}});
}

void add_linear(std::vector<WeightSpec>& weights, const std::string& name, int64_t out, int64_t in,
                bool bias) {
  add(weights, name + ".weight", {out, in}, QUENCH_ROLE_MATRIX);
  if (bias) {
    add(weights, name + ".bias", {out}, QUENCH_ROLE_BIAS);
  }
}

void add_norm(std::vector<WeightSpec>& weights, const std::string& name, int64_t width) {
  add(weights, name + ".weight", {width}, QUENCH_ROLE_NORM);
  add(weights, name + ".bias", {width}, QUENCH_ROLE_NORM);
  weights.back().initial = 0.0;
}

std::vector<WeightSpec> weights_of(const Config& config) {
  std::vector<WeightSpec> weights;
  add(weights, "embed_in.weight", {config.vocabulary, config.width}, QUENCH_ROLE_EMBEDDING);
  if (config.tied) {
    weights.back().aliases.insert(weights.back().aliases.end(),
                                  {"embed_out.weight", "lm_head.weight"});
  }
  const int64_t width = config.width;
  for (int64_t i = 0; i < config.blocks; ++i) {
    const std::string block = "layers." + std::to_string(i) + ".";
    add_norm(weights, block + "input_layernorm", width);
    add_linear(weights, block + "attention.query_key_value", 3 * width, width,
               config.attention_bias);
    add_linear(weights, block + "attention.dense", width, width, config.attention_bias);
    add_norm(weights, block + "post_attention_layernorm", width);
    add_linear(weights, block + "mlp.dense_h_to_4h", config.inner, width, true);
    add_linear(weights, block + "mlp.dense_4h_to_h", width, config.inner, true);
  }
  add_norm(weights, "final_layer_norm", width);
  if (!config.tied) {
    weights.push_back(
        {"embed_out.weight", {config.vocabulary, width}, QUENCH_ROLE_HEAD, {"lm_head.weight"}});
  }
  return weights;
}

// The row of query_key_value that makes channel c of the attention's output; the rows are ordered
// [h][q|k|v][d].
RowMap value_rows(const Config& config) {
  const int64_t head = config.head_width();
  std::vector<int64_t> rows;
  for (int64_t c = 0; c < config.width; ++c) {
    rows.push_back(c / head * 3 * head + 2 * head + c % head);
  }
  return std::make_shared<const std::vector<int64_t>>(std::move(rows));
}

BlockSpec block_of(const Config& config, int64_t index, const RowMap& values, quench_dtype dtype) {
  const std::string block = std::string(kPrefix) + "layers." + std::to_string(index) + ".";
  const std::string fused = block + "attention.query_key_value";
  const auto norm_sites = [&block](const std::string& norm) {
    return std::vector<SiteSpec>{{block + norm + ".weight"}, {block + norm + ".bias"}};
  };
  std::vector<SiteSpec> value_sites = {{fused + ".weight", values}};
  if (config.attention_bias) {
    value_sites.push_back({fused + ".bias", values});
  }
  BlockSpec spec;
  spec.groups = {
      GroupSpec{0, {{fused, "qkv"}}, norm_sites("input_layernorm")},
      GroupSpec{1, {{block + "attention.dense", "o"}}, value_sites},
      GroupSpec{2, {{block + "mlp.dense_h_to_4h", "up"}}, norm_sites("post_attention_layernorm")},
      GroupSpec{3, {{block + "mlp.dense_4h_to_h", "down"}}},  // GELU(x / s) is not GELU(x) / s
  };
  const CarrySpec h{"h", config.width, dtype};
  const CarrySpec x{"x", config.width, dtype};
  const CarrySpec inner{"x", config.inner, dtype};
  const CarrySpec attention{"attention", config.width, dtype};
  spec.carries = config.parallel ? std::vector<std::vector<CarrySpec>>{{h},
                                                                       {h, x},
                                                                       {h, x},
                                                                       {h, x, attention},
                                                                       {h, inner, attention},
                                                                       {h}}
                                 : std::vector<std::vector<CarrySpec>>{{h},    {h, x},     {h, x},
                                                                       {h, x}, {h, inner}, {h}};
  spec.token_wise_from = 2;  // the stage after the attention
  spec.attends = true;
  return spec;
}

decoder::ResidualSpec residual_of(const Config& config) {
  const auto norm = [](const std::string& name, std::vector<std::string> readers) {
    return decoder::ResidualNorm{QUENCH_NORM_CENTERED, name + ".weight", name + ".bias",
                                 std::move(readers)};
  };
  const std::string embedding = "gpt_neox.embed_in.weight";
  decoder::ResidualSpec spec;
  spec.writers.push_back({embedding, 1});
  for (int64_t i = 0; i < config.blocks; ++i) {
    const std::string block = std::string(kPrefix) + "layers." + std::to_string(i) + ".";
    spec.norms.push_back(
        norm(block + "input_layernorm", {block + "attention.query_key_value.weight"}));
    spec.norms.push_back(
        norm(block + "post_attention_layernorm", {block + "mlp.dense_h_to_4h.weight"}));
    spec.writers.push_back({block + "attention.dense.weight", 0,
                            config.attention_bias ? block + "attention.dense.bias" : ""});
    spec.writers.push_back(
        {block + "mlp.dense_4h_to_h.weight", 0, block + "mlp.dense_4h_to_h.bias"});
  }
  spec.norms.push_back(
      norm("gpt_neox.final_layer_norm", {config.tied ? embedding : "embed_out.weight"}));
  return spec;
}

}  // namespace

decoder::Architecture architecture(const Config& config, quench_dtype dtype) {
  decoder::Architecture made{};
  made.width = config.width;
  made.initializer_range = config.initializer_range;
  made.vocabulary = config.vocabulary;
  made.max_positions = config.max_positions;
  made.weights = weights_of(config);
  const RowMap values = value_rows(config);
  for (int64_t i = 0; i < config.blocks; ++i) {
    made.blocks.push_back(block_of(config, i, values, dtype));
  }
  made.embedding = "gpt_neox.embed_in.weight";
  made.head = "embed_out.weight";
  made.ignorable = {".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"};
  made.residual = residual_of(config);
  return made;
}

}  // namespace quench::gpt_neox
