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

Rotary rotary_of(const RopeSettings& rope, const LlamaModel& model, at::ScalarType dtype,
                 at::Device device) {
  return {frequencies(rope, model.head_width), rope.magnitude, rotation_type(model, dtype), device};
}

}  // namespace

LlamaStyle::LlamaStyle(const LlamaModel& model, const quench_model_open_args& args)
    : LlamaStyle(model, llama_architecture(model, args.dtype), args) {}

LlamaStyle::LlamaStyle(const LlamaModel& model, Architecture architecture,
                       const quench_model_open_args& args)
    : Decoder(std::move(architecture), args),
      model_(model),
      rotary_(rotary_of(model.rope, model, dtype(), device())) {
  kit::expects(model.experts == 0 || (!norm_after() && model.gated),
               "a mixture of experts needs a gate and a norm before it alone");
  if (model.window_rope) {
    window_rotary_ = rotary_of(*model.window_rope, model, dtype(), device());
  }
  const bool weighted = model.norm == LlamaModel::Norm::kRms;
  const auto norm = [&](const std::string& name) {
    return weighted ? weight(name + ".weight") : at::Tensor();
  };
  for (int64_t i = 0; i < model.blocks; ++i) {
    const std::string block = llama_block(i);
    Norms& norms = norms_.emplace_back();
    (norm_before() ? norms.before_attention : norms.after_attention) =
        norm(block + model.attention_norm);
    (norm_before() ? norms.before_mlp : norms.after_mlp) = norm(block + model.mlp_norm);
    if (norm_before() && norm_after()) {
      norms.after_attention = norm(block + model.after_attention_norm);
      norms.after_mlp = norm(block + model.after_mlp_norm);
    }
    if (model.head_norm != LlamaModel::HeadNorm::kNone) {
      norms.query = weight(block + "self_attn.q_norm.weight");
      norms.key = weight(block + "self_attn.k_norm.weight");
    }
    Router& router = routers_.emplace_back();
    if (model.sparse(i)) {
      router.weight = weight(router_name(block));
      if (model.sigmoid_routing) {
        router.bias = weight(router_bias_name(block));
      }
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
      return before_branch(io, norms_[block].before_attention);
    case 1:
      io.put(1, attention(block, io.in(norm_before() ? 1 : 0), batch));
      return io.put(0, io.in(0));
    case 2:
      add_branch(io, linear(block, kOutGroup), norms_[block].after_attention);
      before_branch(io, norms_[block].before_mlp);
      if (model_.sparse(block)) {
        const Routing routing = route(io.out(1), routers_[block], model_.picks,
                                      {model_.shares_sum_to_one, model_.share_scale});
        io.put(kExpertCarry, routing.experts);
        io.put(kShareCarry, routing.shares);
      }
      return;
    case 3:
      return model_.sparse(block) ? inside_experts(io, block) : inside_mlp(io, block);
    default:
      return model_.sparse(block)
                 ? add_experts(io, block)
                 : add_branch(io, linear(block, kDownGroup), norms_[block].after_mlp);
  }
}

at::Tensor LlamaStyle::attention(uint32_t block, const at::Tensor& x, const Batch& batch) {
  at::Tensor q = linear(block, kQkvGroup, kQuery)(x);
  at::Tensor k = linear(block, kQkvGroup, kKey)(x);
  at::Tensor v = linear(block, kQkvGroup, kValue)(x);
  if (model_.head_norm != LlamaModel::HeadNorm::kNone) {
    q = normalize_heads(q, norms_[block].query);
    k = normalize_heads(k, norms_[block].key);
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
    Rotary& rotary = model_.window(block) > 0 && window_rotary_ ? *window_rotary_ : rotary_;
    const Angles angles = rotary.angles(batch);
    q = rotate(q, angles);
    k = rotate(k, angles);
  }
  return attend(block, q, k, heads(v, model_.kv_heads), batch,
                {model_.score_scale, model_.score_cap, model_.window(block)});
}

at::Tensor LlamaStyle::normalize_heads(const at::Tensor& x, const at::Tensor& weight) const {
  // A row of the norm is one head or all heads of a token, depending on the weight's length.
  const at::Tensor rows = x.view({-1, weight.size(0)});
  return rms_norm(rows, weight, model_.norm_eps, model_.norm_rounding, rows, model_.norm_offset)
      .view(x.sizes());
}

void LlamaStyle::inside_mlp(const StageIo& io, uint32_t block) const {
  const at::Tensor& from = io.in(norm_before() ? 1 : 0);
  if (model_.gated) {
    const at::Tensor gate = linear(block, kUpGroup, kGate)(from);
    const at::Tensor up = io.apply(1, linear(block, kUpGroup, kGatedUp), from);
    io.put(1, model_.gate == LlamaModel::Gate::kSilu ? gated(gate, up) : gated_by_tanh(gate, up));
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
  at::Tensor shared;
  if (model_.shares_an_expert()) {
    const uint32_t group = shared_up_group(model_.experts);
    const at::Tensor gate = linear(block, group, kGate)(io.in(1));
    shared = gated(gate, io.apply(kSharedCarry, linear(block, group, kGatedUp), io.in(1)));
  }
  io.put(1, inner.all());
  for (const size_t same : {size_t{0}, size_t{kExpertCarry}, size_t{kShareCarry}}) {
    io.put(same, io.in(same));
  }
  if (model_.shares_an_expert()) {
    io.put(kSharedCarry, shared);
  }
}

void LlamaStyle::add_experts(const StageIo& io, uint32_t block) const {
  const Routes routes(io.in(kExpertCarry), model_.experts, model_.picks);
  at::Tensor branch = at::zeros_like(io.in(0));
  for (int64_t e = 0; e < model_.experts; ++e) {
    branch = add_expert(routes, e, linear(block, expert_down_group(e, model_)), io.in(1),
                        io.in(kShareCarry), branch);
  }
  if (model_.shares_an_expert()) {
    branch = branch.add(linear(block, shared_down_group(model_))(io.in(kSharedCarry)));
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
  if (norm_before()) {
    io.put(1, normalize(io.out(0), norm, io.out(1)));
  }
}

at::Tensor LlamaStyle::final_norm(const at::Tensor& h) const {
  return normalize(h, final_norm_);
}

at::Tensor LlamaStyle::after_head(at::Tensor product) const {
  return model_.logit_cap == 0.0 ? product : soft_cap(std::move(product), model_.logit_cap);
}

at::Tensor LlamaStyle::normalize(const at::Tensor& x, const at::Tensor& weight,
                                 const at::Tensor& into) const {
  if (model_.norm == LlamaModel::Norm::kRms) {
    return rms_norm(x, weight, model_.norm_eps, model_.norm_rounding, into, model_.norm_offset);
  }
  return layer_norm(x, {}, {}, model_.norm_eps);
}

}  // namespace quench::decoder
