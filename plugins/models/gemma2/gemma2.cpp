// Gemma 2 (Gemma team 2024, arXiv 2408.00118): norms around each branch, capped scores and logits,
// a window in every other block. In transformers only eager attention caps the scores.
#include "models/decoder/gemma_config.hpp"
#include "models/decoder/llama_style.hpp"

namespace quench::gemma2 {

namespace {

class Gemma2 final : public decoder::LlamaFamily<Gemma2> {
 public:
  using LlamaFamily::LlamaFamily;

  static decoder::LlamaDialect dialect() { return decoder::gemma_dialect("gemma2"); }
  static decoder::LlamaModel read(const kit::Json& config) {
    decoder::LlamaModel model = decoder::read_gemma_config(config, dialect(), 2);
    model.score_cap = decoder::read_cap(config, "attn_logit_softcapping", 50.0);
    model.logit_cap = decoder::read_cap(config, "final_logit_softcapping", 30.0);
    return model;
  }
};

}  // namespace

}  // namespace quench::gemma2

QUENCH_MODULE(
    "quench.gemma2", "0.1.0",
    quench::kit::model<quench::gemma2::Gemma2>({.id = "gemma2",
                                                .version = "0.1.0",
                                                .summary = "Gemma 2 models.",
                                                .reference = "Gemma team 2024, arXiv 2408.00118",
                                                .model_types = "gemma2"}))
