// What distinguishes the decoders that have Llama's layout (Touvron et al. 2023, arXiv 2302.13971):
// q, k, v, o linears, then an MLP, one after the other, with rotary positions.
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
  int64_t kv_heads;    // divides heads; each serves heads / kv_heads query heads
  int64_t head_width;  // even
  int64_t inner;       // width of the MLP
  int64_t vocabulary;
  int64_t max_positions;
  RopeSettings rope;
  double norm_eps;
  bool attention_bias;  // of q, k, v and o
  bool mlp_bias;
  bool tied;                       // output head = token embedding
  double initializer_range = 0.0;  // of weights that are drawn; 0: the config does not say

  // From the family.
  enum class Norm { kRms, kLayerWithoutWeights };
  enum class Place { kBeforeBranch, kAfterBranch };
  enum class HeadNorm { kNone, kEachHead, kAllHeads };  // RMS norm of q and k before rotation
  Norm norm = Norm::kRms;
  Place norm_place = Place::kBeforeBranch;
  NormRounding norm_rounding = NormRounding::kBeforeWeight;
  HeadNorm head_norm = HeadNorm::kNone;
  std::string attention_norm = "input_layernorm";
  std::string mlp_norm = "post_attention_layernorm";
  std::string head_norm_alias = "norm";  // "layernorm": q_layernorm is another name of q_norm
  // q, k, v are clamped to [-clip, clip], after the norm of q and k where there is one.
  std::optional<double> clip_qkv = std::nullopt;
  // A sparse mixture of gated MLPs in place of the one; 0: none.
  int64_t experts = 0;
  int64_t picks = 0;                 // experts that a token goes to
  bool shares_sum_to_one = false;    // the picks' shares are divided by their sum
  std::vector<bool> unrotated = {};  // blocks without rotary positions; empty: all have them
  bool gated = true;                 // down(silu(gate x) * up x); else down(activation(up x))
  // Rotation in float32 in a 16-bit model too; else in its dtype.
  bool wide_rotation = false;

  bool sparse() const { return experts > 0; }
  int64_t query_width() const { return heads * head_width; }
  int64_t key_width() const { return kv_heads * head_width; }
  bool rotates(uint32_t block) const { return unrotated.empty() || !unrotated[block]; }
};

}  // namespace quench::decoder
