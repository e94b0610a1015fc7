// The stages when the norm comes before a branch, and how they change when it comes after:
//
//   stage 0:  x = norm(h)                               no-op: group 0 reads h
//   stage 1:  x = attention(q x, k x, v x)
//   stage 2:  h = h + o x;         x = norm(h)          h = h + norm(o x); group 2 reads h
//   stage 3:  x = silu(gate x) * up x
//   stage 4:  h = h + down x                            h = h + norm(down x)
//
// With norms around the branches stages 0 and 2 end as on the left and stages 2 and 4 begin as on
// the right.
//
// In a sparse mixture of experts (sparse_layout.hpp) stage 2 also routes the rows of x, and the
// groups of stages 2 and 3 belong to the experts.
#include "models/decoder/llama_architecture.hpp"

#include <string>
#include <utility>
#include <vector>

#include "models/decoder/sparse_layout.hpp"
#include "quench/kit/scalar.hpp"

namespace quench::decoder {

namespace {

constexpr const char* kPrefix = "model.";

class WeightList {
 public:
  // Files of the base model omit the prefix.
  WeightSpec& add(const std::string& name, std::vector<int64_t> shape, int32_t role) {
    return specs.emplace_back(
        WeightSpec{name, std::move(shape), role, {name.substr(std::string(kPrefix).size())}});
  }
  void add_linear(const std::string& name, int64_t out, int64_t in, bool bias) {
    add(name + ".weight", {out, in}, QUENCH_ROLE_MATRIX);
    if (bias) {
      add(name + ".bias", {out}, QUENCH_ROLE_BIAS);
    }
  }
  void add_head_norm(const LlamaModel& model, const std::string& name, int64_t width) {
    WeightSpec& spec = add(name + "_norm.weight", {width}, QUENCH_ROLE_NORM);
    if (model.head_norm_alias != "norm") {
      spec.aliases.push_back(name + "_" + model.head_norm_alias + ".weight");
    }
  }

  std::vector<WeightSpec> specs;
};

void add_attention(WeightList& weights, const LlamaModel& model, const std::string& block) {
  const std::string at = block + "self_attn.";
  weights.add_linear(at + "q_proj", model.query_width(), model.width, model.attention_bias);
  weights.add_linear(at + "k_proj", model.key_width(), model.width, model.attention_bias);
  weights.add_linear(at + "v_proj", model.key_width(), model.width, model.attention_bias);
  weights.add_linear(at + "o_proj", model.width, model.query_width(), model.output_bias);
  if (model.head_norm != LlamaModel::HeadNorm::kNone) {
    const bool each = model.head_norm == LlamaModel::HeadNorm::kEachHead;
    weights.add_head_norm(model, at + "q", each ? model.head_width : model.query_width());
    weights.add_head_norm(model, at + "k", each ? model.head_width : model.key_width());
  }
}

void add_mlp(WeightList& weights, const LlamaModel& model, int64_t index) {
  const std::string block = llama_block(index);
  if (model.sparse(index)) {
    for (const auto& [name, shape] : sparse_weights(model, block)) {
      weights.add(name, shape, shape.size() == 1 ? QUENCH_ROLE_BIAS : QUENCH_ROLE_MATRIX);
    }
    return;
  }
  if (model.gated) {
    weights.add_linear(block + "mlp.gate_proj", model.inner, model.width, model.mlp_bias);
  }
  weights.add_linear(block + "mlp.up_proj", model.inner, model.width, model.mlp_bias);
  weights.add_linear(block + "mlp.down_proj", model.width, model.inner, model.mlp_bias);
}

std::vector<WeightSpec> weights_of(const LlamaModel& model) {
  WeightList weights;
  WeightSpec& embedding = weights.add("model.embed_tokens.weight", {model.vocabulary, model.width},
                                      QUENCH_ROLE_EMBEDDING);
  if (model.tied) {
    embedding.aliases.emplace_back("lm_head.weight");
  }
  const bool norms = model.norm == LlamaModel::Norm::kRms;
  for (int64_t i = 0; i < model.blocks; ++i) {
    const std::string block = llama_block(i);
    if (norms) {
      weights.add(block + model.attention_norm + ".weight", {model.width}, QUENCH_ROLE_NORM);
      weights.add(block + model.mlp_norm + ".weight", {model.width}, QUENCH_ROLE_NORM);
      if (model.norm_place == LlamaModel::Place::kAroundBranch) {
        weights.add(block + model.after_attention_norm + ".weight", {model.width},
                    QUENCH_ROLE_NORM);
        weights.add(block + model.after_mlp_norm + ".weight", {model.width}, QUENCH_ROLE_NORM);
      }
    }
    add_attention(weights, model, block);
    add_mlp(weights, model, i);
  }
  if (norms) {
    weights.add("model.norm.weight", {model.width}, QUENCH_ROLE_NORM);
  }
  if (!model.tied) {
    weights.specs.push_back({"lm_head.weight", {model.vocabulary, model.width}, QUENCH_ROLE_HEAD});
  }
  for (WeightSpec& spec : weights.specs) {
    if (spec.role == QUENCH_ROLE_NORM && model.norm_offset != 0.0) {
      spec.initial = 1.0 - model.norm_offset;
    }
  }
  return weights.specs;
}

std::vector<SiteSpec> linear_sites(const std::string& name, bool bias) {
  std::vector<SiteSpec> sites = {{name + ".weight"}};
  if (bias) {
    sites.push_back({name + ".bias"});
  }
  return sites;
}

// The tensors that can absorb the scale of each group's input. A norm can if it has a weight that
// multiplies and feeds only this group. v can for o if no two heads share one of its rows and
// nothing clamps it. gate(gate x) * up is linear in up; other activations need not be linear in
// anything.
std::vector<GroupSpec> groups_of(const LlamaModel& model, int64_t index) {
  const std::string block = llama_block(index);
  const std::string attention = block + "self_attn.";
  const std::string mlp = block + "mlp.";
  GroupSpec qkv{
      kQkvGroup,
      {{attention + "q_proj", "q"}, {attention + "k_proj", "k"}, {attention + "v_proj", "v"}}};
  GroupSpec out{kOutGroup, {{attention + "o_proj", "o"}}};
  GroupSpec up{kUpGroup, {}};
  GroupSpec down{kDownGroup, {{mlp + "down_proj", "down"}}};
  if (model.gated) {
    up.linears.push_back({mlp + "gate_proj", "gate"});
    down.sites = linear_sites(mlp + "up_proj", model.mlp_bias);
  }
  up.linears.push_back({mlp + "up_proj", "up"});
  if (model.norm_place == LlamaModel::Place::kAfterBranch) {
    qkv.input = 0;  // the residual stream itself
    up.input = 0;
  } else if (model.norm == LlamaModel::Norm::kRms && model.norm_offset == 0.0) {
    qkv.sites = {{block + model.attention_norm + ".weight"}};
    up.sites = {{block + model.mlp_norm + ".weight"}};
  }
  if (model.kv_heads == model.heads && !model.clip_qkv) {
    out.sites = linear_sites(attention + "v_proj", model.attention_bias);
  }
  if (!model.sparse(index)) {
    return {qkv, out, up, down};
  }
  std::vector<GroupSpec> groups = {qkv, out};
  const std::vector<GroupSpec> experts = sparse_groups(model, block);
  groups.insert(groups.end(), experts.begin(), experts.end());
  return groups;
}

// The tensors that enter stages 0, 1, ... and those that leave the last stage.
std::vector<std::vector<CarrySpec>> carries_of(const LlamaModel& model, int64_t index,
                                               quench_dtype dtype) {
  const CarrySpec h{"h", model.width, dtype};
  const CarrySpec x{"x", model.width, dtype};
  const CarrySpec attended{"x", model.query_width(), dtype};
  const CarrySpec inner{"x", model.inner, dtype};
  const bool after = model.norm_place == LlamaModel::Place::kAfterBranch;
  const std::vector<CarrySpec> input = after ? std::vector{h} : std::vector{h, x};
  if (!model.sparse(index)) {
    return {{h}, input, {h, attended}, input, {h, inner}, {h}};
  }
  std::vector<std::vector<CarrySpec>> carries = {{h}, input, {h, attended}};
  const auto routed = sparse_carries(model, dtype);
  carries.insert(carries.end(), routed.begin(), routed.end());
  return carries;
}

// The names lie in the blocks of `model`. A norm after a branch multiplies the branch by its own
// weights on the way into the stream; no orthogonal matrix commutes with that.
ResidualSpec residual_of(const LlamaModel& model) {
  if (model.norm_place != LlamaModel::Place::kBeforeBranch) {
    return {{}, {}, "a norm with weights lies between each branch and the residual stream"};
  }
  if (model.norm_offset != 0.0) {
    return {{}, {}, "its norms multiply by more than their weights"};
  }
  const bool rms = model.norm == LlamaModel::Norm::kRms;
  const auto norm = [&](const std::string& name, std::vector<std::string> readers) {
    return ResidualNorm{rms ? QUENCH_NORM_ROOT_MEAN_SQUARE : QUENCH_NORM_CENTERED,
                        rms ? name + ".weight" : "", "", std::move(readers)};
  };
  const std::string embedding = "model.embed_tokens.weight";
  ResidualSpec spec;
  spec.writers.push_back({embedding, 1});
  for (int64_t i = 0; i < model.blocks; ++i) {
    const std::string block = llama_block(i);
    const std::string attention = block + "self_attn.";
    spec.norms.push_back(norm(
        block + model.attention_norm,
        {attention + "q_proj.weight", attention + "k_proj.weight", attention + "v_proj.weight"}));
    spec.writers.push_back(
        {attention + "o_proj.weight", 0, model.output_bias ? attention + "o_proj.bias" : ""});
    std::vector<std::string> readers;
    if (model.sparse(i)) {
      readers.push_back(router_name(block));
    }
    for (const GroupSpec& group : groups_of(model, i)) {
      for (const LinearSpec& linear : group.linears) {
        if (linear.role == "gate" || linear.role == "up") {
          readers.push_back(linear.name + ".weight");
        } else if (linear.role == "down") {
          spec.writers.push_back(
              {linear.name + ".weight", 0, model.mlp_bias ? linear.name + ".bias" : ""});
        }
      }
    }
    spec.norms.push_back(norm(block + model.mlp_norm, std::move(readers)));
  }
  spec.norms.push_back(norm("model.norm", {model.tied ? embedding : "lm_head.weight"}));
  return spec;
}

double rounded(double value, quench_dtype dtype) {
  if (kit::same(dtype, kit::kBFloat16)) {
    return kit::from_bfloat(kit::to_bfloat(value));
  }
  if (kit::same(dtype, kit::kFloat16)) {
    return kit::from_half(kit::to_half(value));
  }
  return kit::same(dtype, kit::kFloat32) ? static_cast<double>(static_cast<float>(value)) : value;
}

}  // namespace

std::string llama_block(int64_t index) {
  return std::string(kPrefix) + "layers." + std::to_string(index) + ".";
}

Architecture llama_architecture(const LlamaModel& model, quench_dtype dtype) {
  Architecture made{};
  made.width = model.width;
  made.vocabulary = model.vocabulary;
  made.max_positions = model.max_positions;
  made.weights = weights_of(model);
  for (int64_t i = 0; i < model.blocks; ++i) {
    made.blocks.push_back({groups_of(model, i), carries_of(model, i, dtype), kOutGroup + 1, true});
  }
  made.embedding = "model.embed_tokens.weight";
  made.head = "lm_head.weight";
  made.embedding_scale = rounded(model.embedding_scale, dtype);
  made.ignorable = {".rotary_emb.inv_freq"};
  made.initializer_range = model.initializer_range;
  made.residual = residual_of(model);
  return made;
}

}  // namespace quench::decoder
