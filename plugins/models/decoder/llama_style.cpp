// Shapes: N tokens = B rows of T tokens, H query heads and K key heads of D elements.
#include "models/decoder/llama_style.hpp"

#include <ATen/ops/zeros_like.h>

#include <utility>

#include "models/decoder/activation.hpp"
#include "models/decoder/attention.hpp"
#include "models/decoder/layer_norm.hpp"
#include "models/decoder/llama_architecture.hpp"
#include "models/decoder/sparse_layout.hpp"
#include "models/decoder/sparse_mlp.hpp"

namespace quench::decoder {

namespace {

// The type of cosines and sines.
at::ScalarType rotation_type(const LlamaModel& model, at::ScalarType dtype) {
  return model.wide_rotation && dtype != at::kDouble ? at::kFloat : dtype;
}

}  // namespace

LlamaStyle::LlamaStyle(const LlamaModel& model, const quench_model_open_args& args)
    : LlamaStyle(model, llama_architecture(model, args.dtype), args) {}

LlamaStyle::LlamaStyle(const LlamaModel& model, Architecture architecture,
                       const quench_model_open_args& args)
    : Decoder(std::move(architecture), args),
      model_(model),
      rotary_(frequencies(model.rope, model.head_width), 1.0, rotation_type(model, dtype()),
              device()) {
  kit::expects(!model.sparse() || (!norm_after() && model.gated),
               "a mixture of experts needs a gate and a norm before it");
  const bool weighted = model.norm == LlamaModel::Norm::kRms;
  const auto norm = [&](const std::string& name) {
    return weighted ? weight(name + ".weight") : at::Tensor();
  };
  for (int64_t i = 0; i < model.blocks; ++i) {
    const std::string block = llama_block(i);
    attention_norms_.push_back(norm(block + model.attention_norm));
    mlp_norms_.push_back(norm(block + model.mlp_norm));
    if (model.head_norm != LlamaModel::HeadNorm::kNone) {
      query_norms_.push_back(weight(block + "self_attn.q_norm.weight"));
      key_norms_.push_back(weight(block + "self_attn.k_norm.weight"));
    }
    if (model.sparse()) {
      routers_.push_back(weight(router_name(block)));
    }
  }
  final_norm_ = norm("model.norm");
}

at::Tensor LlamaStyle::activate(uint32_t, at::Tensor) const {
  kit::fail(QUENCH_INTERNAL, "an MLP without a gate has no activation");
}

void LlamaStyle::run_stage(const StageIo& io, uint32_t block, uint32_t stage, const Batch& batch) {
  switch (stage) {
    case 0:
      io.put(0, io.in(0));
      return before_branch(io, attention_norms_[block]);
    case 1:
      io.put(1, attention(block, io.in(norm_after() ? 0 : 1), batch));
      return io.put(0, io.in(0));
    case 2:
      add_branch(io, linear(block, kOutGroup), attention_norms_[block]);
      before_branch(io, mlp_norms_[block]);
      if (model_.sparse()) {
        const Routing routing =
            route(io.out(1), routers_[block], model_.picks, model_.shares_sum_to_one);
        io.put(kExpertCarry, routing.experts);
        io.put(kShareCarry, routing.shares);
      }
      return;
    case 3:
      return model_.sparse() ? inside_experts(io, block) : inside_mlp(io, block);
    default:
      return model_.sparse() ? add_experts(io, block)
                             : add_branch(io, linear(block, kDownGroup), mlp_norms_[block]);
  }
}

at::Tensor LlamaStyle::attention(uint32_t block, const at::Tensor& x, const Batch& batch) {
  at::Tensor q = linear(block, kQkvGroup, kQuery)(x);
  at::Tensor k = linear(block, kQkvGroup, kKey)(x);
  at::Tensor v = linear(block, kQkvGroup, kValue)(x);
  if (model_.head_norm != LlamaModel::HeadNorm::kNone) {
    q = normalize_heads(q, query_norms_[block]);
    k = normalize_heads(k, key_norms_[block]);
  }
  if (model_.clip_qkv) {
    for (at::Tensor* each : {&q, &k, &v}) {
      *each = clip(*each, *model_.clip_qkv);
    }
  }
  const auto heads = [&](const at::Tensor& each, int64_t count) {
    return each.view({batch.rows(), batch.length(), count, model_.head_width});
  };
  q = heads(q, model_.heads);
  k = heads(k, model_.kv_heads);
  if (model_.rotates(block)) {
    const Angles angles = rotary_.angles(batch);
    q = rotate(q, angles);
    k = rotate(k, angles);
  }
  return attend(q, k, heads(v, model_.kv_heads), batch);
}

at::Tensor LlamaStyle::normalize_heads(const at::Tensor& x, const at::Tensor& weight) const {
  // A row of the norm is one head or all heads of a token, depending on the weight's length.
  const at::Tensor rows = x.view({-1, weight.size(0)});
  return rms_norm(rows, weight, model_.norm_eps, model_.norm_rounding, rows).view(x.sizes());
}

void LlamaStyle::inside_mlp(const StageIo& io, uint32_t block) const {
  const at::Tensor& from = io.in(norm_after() ? 0 : 1);
  if (model_.gated) {
    const at::Tensor gate = linear(block, kUpGroup, kGate)(from);
    io.put(1, gated(gate, io.apply(1, linear(block, kUpGroup, kGatedUp), from)));
  } else {
    io.put(1, activate(block, io.apply(1, linear(block, kUpGroup), from)));
  }
  io.put(0, io.in(0));
}

void LlamaStyle::inside_experts(const StageIo& io, uint32_t block) const {
  const Routes routes(io.in(kExpertCarry), model_.experts, model_.picks);
  ExpertRows inner(routes, io.scratch(1));
  for (int64_t e = 0; e < model_.experts; ++e) {
    const uint32_t group = expert_up_group(e);
    inside_expert(routes, e, linear(block, group, kGate), linear(block, group, kGatedUp), io.in(1),
                  inner);
  }
  io.put(1, inner.all());
  for (const size_t same : {size_t{0}, size_t{kExpertCarry}, size_t{kShareCarry}}) {
    io.put(same, io.in(same));
  }
}

void LlamaStyle::add_experts(const StageIo& io, uint32_t block) const {
  const Routes routes(io.in(kExpertCarry), model_.experts, model_.picks);
  at::Tensor branch = at::zeros_like(io.in(0));
  for (int64_t e = 0; e < model_.experts; ++e) {
    branch = add_expert(routes, e, linear(block, expert_down_group(e, model_.experts)), io.in(1),
                        io.in(kShareCarry), branch);
  }
  io.put_sum(0, io.in(0), branch);
}

void LlamaStyle::add_branch(const StageIo& io, const Linear& linear, const at::Tensor& norm) const {
  at::Tensor branch = linear(io.in(1));
  if (norm_after()) {
    branch = normalize(branch, norm, branch);
  }
  io.put_sum(0, io.in(0), branch);
}

void LlamaStyle::before_branch(const StageIo& io, const at::Tensor& norm) const {
  if (!norm_after()) {
    io.put(1, normalize(io.out(0), norm, io.out(1)));
  }
}

at::Tensor LlamaStyle::final_norm(const at::Tensor& h) const {
  return normalize(h, final_norm_);
}

at::Tensor LlamaStyle::normalize(const at::Tensor& x, const at::Tensor& weight,
                                 const at::Tensor& into) const {
  if (model_.norm == LlamaModel::Norm::kRms) {
    return rms_norm(x, weight, model_.norm_eps, model_.norm_rounding, into);
  }
  return layer_norm(x, {}, {}, model_.norm_eps);
}

}  // namespace quench::decoder
