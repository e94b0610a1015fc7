// OLMo 3 (OLMo team 2025): OLMo 2 with a window in three of four blocks, whose rotary
// positions are never scaled.
#include "models/decoder/llama_config.hpp"
#include "models/decoder/llama_style.hpp"

namespace quench::olmo3 {

namespace {

class Olmo3 final : public decoder::LlamaFamily<Olmo3> {
 public:
  using LlamaFamily::LlamaFamily;

  static decoder::LlamaDialect dialect() {
    decoder::LlamaDialect dialect{"olmo3"};
    dialect.reads_windows = true;
    return dialect;
  }
  static decoder::LlamaModel read(const kit::Json& config) {
    decoder::LlamaModel model = decoder::read_llama_config(config, dialect());
    model.norm_place = decoder::LlamaModel::Place::kAfterBranch;
    model.norm_rounding = decoder::NormRounding::kAfterWeight;
    model.head_norm = decoder::LlamaModel::HeadNorm::kAllHeads;
    model.attention_norm = "post_attention_layernorm";
    model.mlp_norm = "post_feedforward_layernorm";
    model.wide_rotation = true;
    model.windows = decoder::read_windows(config, model.blocks,
                                          [](int64_t block) { return (block + 1) % 4 != 0; });
    model.window_rope.emplace();
    model.window_rope->theta = model.rope.theta;
    return model;
  }
};

}  // namespace

}  // namespace quench::olmo3

QUENCH_MODULE("quench.olmo3", "0.1.0",
              quench::kit::model<quench::olmo3::Olmo3>({.id = "olmo3",
                                                        .version = "0.1.0",
                                                        .summary = "OLMo 3 models.",
                                                        .reference = "OLMo team 2025, OLMo 3",
                                                        .model_types = "olmo3"}))
