// OLMo 2 (OLMo team 2025, arXiv 2501.00656): Llama with RMS norms on the output of attention and
// MLP instead of their input, and RMS norms over all heads of q and of k together.
#include "models/decoder/llama_config.hpp"
#include "models/decoder/llama_style.hpp"

namespace quench::olmo2 {

namespace {

class Olmo2 final : public decoder::LlamaFamily<Olmo2> {
 public:
  using LlamaFamily::LlamaFamily;

  static decoder::LlamaDialect dialect() { return {"olmo2"}; }
  static decoder::LlamaModel read(const kit::Json& config) {
    decoder::LlamaModel model = decoder::read_llama_config(config, dialect());
    model.norm_place = decoder::LlamaModel::Place::kAfterBranch;
    model.norm_rounding = decoder::NormRounding::kAfterWeight;
    model.head_norm = decoder::LlamaModel::HeadNorm::kAllHeads;
    model.attention_norm = "post_attention_layernorm";
    model.mlp_norm = "post_feedforward_layernorm";
    model.wide_rotation = true;
    return model;
  }
};

}  // namespace

}  // namespace quench::olmo2

QUENCH_MODULE(
    "quench.olmo2", "0.1.0",
    quench::kit::model<quench::olmo2::Olmo2>({.id = "olmo2",
                                              .version = "0.1.0",
                                              .summary = "OLMo 2 models.",
                                              .reference = "OLMo team 2025, arXiv 2501.00656",
                                              .model_types = "olmo2"}))
