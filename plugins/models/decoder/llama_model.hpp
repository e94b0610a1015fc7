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
  bool attention_bias;  // whether q, k and v have biases
  bool output_bias;     // whether o has one; as attention_bias says unless the family differs
  bool mlp_bias;
  bool tied;                       // output head = token embedding
  double initializer_range = 0.0;  // of initial weights; 0: the config has none

  // Set by the family.
  enum class Norm { kRms, kLayerWithoutWeights };
  enum class Place { kBeforeBranch, kAfterBranch, kAroundBranch };
  enum class HeadNorm { kNone, kEachHead, kAllHeads };  // RMS norm of q and k before rotation
  Norm norm = Norm::kRms;
  Place norm_place = Place::kBeforeBranch;
  NormRounding norm_rounding = NormRounding::kBeforeWeight;
  HeadNorm head_norm = HeadNorm::kNone;
  std::string attention_norm = "input_layernorm";
  std::string mlp_norm = "post_attention_layernorm";
  // The second norm of each branch, of kAroundBranch.
  std::string after_attention_norm = "post_attention_layernorm";
  std::string after_mlp_norm = "post_feedforward_layernorm";
  double norm_offset = 0.0;              // every RMS norm multiplies by this plus its weight
  std::string head_norm_alias = "norm";  // "layernorm": q_layernorm is an alias of q_norm
  // q, k, v are clamped to [-clip, clip], after the norm of q and k if there is one.
  std::optional<double> clip_qkv = std::nullopt;
  // The number of gated MLPs in a sparse mixture of experts; 0: one dense MLP.
  int64_t experts = 0;
  int64_t expert_inner = 0;  // MLP width of each
  int64_t dense_blocks = 0;  // the first blocks, which have one dense MLP nevertheless
  int64_t shared_inner = 0;  // width of a gated MLP that every token has besides; 0: none
  int64_t picks = 0;         // experts per token
  // Each expert has a likelihood of its own, and is picked by that plus a bias.
  bool sigmoid_routing = false;
  bool shares_sum_to_one = false;    // shares are divided by their sum
  double share_scale = 1.0;          // and then multiplied by this
  std::vector<bool> unrotated = {};  // blocks without rotary positions; empty: every block has them
  bool gated = true;                 // down(gate(gate x) * up x); else down(activation(up x))
  enum class Gate { kSilu, kGeluByTanh };
  Gate gate = Gate::kSilu;
  // Rotate in float32 even in a 16-bit model; otherwise in the model's dtype.
  bool wide_rotation = false;
  double score_scale = 0.0;  // of q kᵀ; 0: 1 / sqrt(head_width)
  double score_cap = 0.0;    // a score s becomes cap * tanh(s / cap); 0: it stays
  double logit_cap = 0.0;    // likewise of the logits
  // How many tokens one sees in each block, itself among them, 0: all; empty: all in every block.
  std::vector<int64_t> windows = {};
  std::optional<RopeSettings> window_rope = std::nullopt;  // of blocks with a window, if not `rope`
  double embedding_scale = 1.0;  // rounded to the model's dtype, like the product

  bool sparse(int64_t block) const { return experts > 0 && block >= dense_blocks; }
  bool shares_an_expert() const { return shared_inner > 0; }
  int64_t query_width() const { return heads * head_width; }
  int64_t key_width() const { return kv_heads * head_width; }
  int64_t window(uint32_t block) const { return windows.empty() ? 0 : windows[block]; }
  bool rotates(uint32_t block) const { return unrotated.empty() || !unrotated[block]; }
};

}  // namespace quench::decoder
