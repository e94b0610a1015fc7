// OLMoE (Muennighoff et al. 2024, arXiv 2409.02060): Llama with a sparse mixture of experts in
// every block and RMS norms over all heads of q and of k together. Some models clamp q, k and
// v.
#include <array>
#include <string_view>

#include "models/decoder/config.hpp"
#include "models/decoder/llama_config.hpp"
#include "models/decoder/llama_style.hpp"

namespace quench::olmoe {

namespace {

// The last two affect only the training loss.
constexpr std::array<std::string_view, 6> kOwnKeys = {
    "clip_qkv",       "num_experts",          "num_experts_per_tok",
    "norm_topk_prob", "output_router_logits", "router_aux_loss_coef"};

class Olmoe final : public decoder::LlamaFamily<Olmoe> {
 public:
  using LlamaFamily::LlamaFamily;

  static decoder::LlamaDialect dialect() {
    decoder::LlamaDialect dialect{"olmoe"};
    dialect.usual_theta = 10000.0;
    dialect.more = kOwnKeys;
    return dialect;
  }
  static decoder::LlamaModel read(const kit::Json& config) {
    decoder::LlamaModel model = decoder::read_llama_config(config, dialect());
    model.head_norm = decoder::LlamaModel::HeadNorm::kAllHeads;
    model.clip_qkv = decoder::read_clip(config);
    model.experts =
        decoder::required_size(config, "num_experts", 1, decoder::kMaxExperts / model.blocks);
    model.expert_inner = model.inner;
    model.picks = decoder::required_size(config, "num_experts_per_tok", 1, model.experts);
    model.shares_sum_to_one = config.boolean_or("/norm_topk_prob", false);
    return model;
  }
};

}  // namespace

}  // namespace quench::olmoe

QUENCH_MODULE("quench.olmoe", "0.1.0",
              quench::kit::model<quench::olmoe::Olmoe>(
                  {.id = "olmoe",
                   .version = "0.1.0",
                   .summary = "OLMoE models, whose MLP is a sparse mixture of experts.",
                   .reference = "Muennighoff et al. 2024, arXiv 2409.02060",
                   .model_types = "olmoe"}))
