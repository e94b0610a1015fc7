// their_gemma2: norms around each branch that multiply by 1 + w, a scaled embedding, capped scores
// and logits, a window in every other block.
#include <array>
#include <cmath>
#include <string_view>

#include "models/decoder/llama_config.hpp"
#include "models/decoder/llama_style.hpp"

namespace decoder = quench::decoder;
namespace kit = quench::kit;

namespace {

constexpr std::array<std::string_view, 4> kOwnKeys = {"attn_logit_softcapping",
                                                      "final_logit_softcapping",
                                                      "hidden_activation", "query_pre_attn_scalar"};

class TheirGemma2 final : public decoder::LlamaFamily<TheirGemma2> {
 public:
  using LlamaFamily::LlamaFamily;

  static decoder::LlamaDialect dialect() {
    decoder::LlamaDialect dialect{"their_gemma2"};
    dialect.activation = "gelu_pytorch_tanh";
    dialect.usually_tied = true;
    dialect.reads_windows = true;
    dialect.more = kOwnKeys;
    return dialect;
  }
  static decoder::LlamaModel read(const kit::Json& config) {
    decoder::LlamaModel model = decoder::read_llama_config(config, dialect());
    const std::string act = config.string_or("/hidden_activation", "gelu_pytorch_tanh");
    if (act != "gelu_pytorch_tanh") {
      kit::fail(QUENCH_UNSUPPORTED, "config: hidden_activation %s", act.c_str());
    }
    model.score_scale = 1.0 / std::sqrt(config.number("/query_pre_attn_scalar"));
    model.score_cap = config.number("/attn_logit_softcapping");
    model.logit_cap = config.number("/final_logit_softcapping");
    model.embedding_scale = std::sqrt(static_cast<double>(model.width));
    model.windows =
        decoder::read_windows(config, model.blocks, [](int64_t block) { return block % 2 == 0; });
    model.gate = decoder::LlamaModel::Gate::kGeluByTanh;
    model.norm_place = decoder::LlamaModel::Place::kAroundBranch;
    model.norm_rounding = decoder::NormRounding::kAfterWeight;
    model.norm_offset = 1.0;
    model.mlp_norm = "pre_feedforward_layernorm";
    return model;
  }
};

}  // namespace

QUENCH_MODULE("their_gemma2", "0.1.0",
              kit::model<TheirGemma2>({.id = "their_gemma2",
                                       .version = "0.1.0",
                                       .summary = "Capped scores and norms around branches.",
                                       .model_types = "their_gemma2"}))
