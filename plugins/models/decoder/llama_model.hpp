// How decoders with Llama's layout differ (Touvron et al. 2023, arXiv 2302.13971): linears q, k, v,
// o, then an MLP, in sequence, with rotary positions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/decoder/rms_norm.hpp"
#include "models/decoder/rope_settings.hpp"

namespace quench::decoder {

struct LlamaModel {
  // From config.json.
  int64_t blocks;
  int64_t width;
  int64_t heads;
  int64_t kv_heads;    // divides heads; each key head serves heads / kv_heads query heads
  int64_t head_width;  // even
  int64_t inner;       // MLP width
  int64_t vocabulary;
  int64_t max_positions;
  RopeSettings rope;
  double norm_eps;
  bool attention_bias;  // whether q, k, v and o have biases
  bool mlp_bias;
  bool tied;                       // output head = token embedding
  double initializer_range = 0.0;  // of initial weights; 0: the config has none

  // Set by the family.
  enum class Norm { kRms, kLayerWithoutWeights };
  enum class Place { kBeforeBranch, kAfterBranch };
  enum class HeadNorm { kNone, kEachHead, kAllHeads };  // RMS norm of q and k before rotation
  Norm norm = Norm::kRms;
  Place norm_place = Place::kBeforeBranch;
  NormRounding norm_rounding = NormRounding::kBeforeWeight;
  HeadNorm head_norm = HeadNorm::kNone;
  std::string attention_norm = "input_layernorm";
  std::string mlp_norm = "post_attention_layernorm";
  std::string head_norm_alias = "norm";  // "layernorm": q_layernorm is an alias of q_norm
  // q, k, v are clamped to [-clip, clip], after the norm of q and k if there is one.
  std::optional<double> clip_qkv = std::nullopt;
  // The number of gated MLPs in a sparse mixture of experts; 0: one dense MLP.
  int64_t experts = 0;
  int64_t picks = 0;                 // experts per token
  bool shares_sum_to_one = false;    // shares are divided by their sum
  std::vector<bool> unrotated = {};  // blocks without rotary positions; empty: every block has them
  bool gated = true;                 // down(silu(gate x) * up x); else down(activation(up x))
  // Rotate in float32 even in a 16-bit model; otherwise in the model's dtype.
  bool wide_rotation = false;

  bool sparse() const { return experts > 0; }
  int64_t query_width() const { return heads * head_width; }
  int64_t key_width() const { return kv_heads * head_width; }
  bool rotates(uint32_t block) const { return unrotated.empty() || !unrotated[block]; }
};

}  // namespace quench::decoder
