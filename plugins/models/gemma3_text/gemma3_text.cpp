// Gemma 3 text models, and the text part of those of text and images (Gemma team 2025, arXiv
// 2503.19786): Gemma 2 with norms on each head of q and k in place of capped scores, and a window
// with a rotary base of its own in five of six blocks.
#include <memory>
#include <utility>

#include "models/decoder/gemma_config.hpp"
#include "models/decoder/llama_architecture.hpp"
#include "models/decoder/llama_style.hpp"
#include "models/gemma3_text/text_part.hpp"

namespace quench::gemma3_text {

namespace {

class Gemma3Text final : public decoder::LlamaFamily<Gemma3Text> {
 public:
  using LlamaFamily::LlamaFamily;
  Gemma3Text(const decoder::LlamaModel& model, decoder::Architecture made,
             const quench_model_open_args& args)
      : LlamaFamily(model, std::move(made), args) {}

  static kit::Fit probe(const kit::Json& config) {
    if (!has_text_part(config)) {
      return LlamaFamily::probe(config);
    }
    read(text_part(config));
    return 100;
  }
  static std::unique_ptr<kit::Model> open(const quench_model_open_args& args) {
    const kit::Json config(args.config_json, args.config_bytes);
    return has_text_part(config) ? open_text_part(config, args) : LlamaFamily::open(args);
  }

  static decoder::LlamaDialect dialect() {
    decoder::LlamaDialect dialect = decoder::gemma_dialect("gemma3_text");
    dialect.usual_theta = 1e6;
    dialect.has_window_rope = true;
    return dialect;
  }
  static decoder::LlamaModel read(const kit::Json& config) {
    decoder::LlamaModel model = decoder::read_gemma_config(config, dialect(), 6);
    if (config.has("/attn_logit_softcapping")) {
      kit::fail(QUENCH_UNSUPPORTED, "config: attn_logit_softcapping: this family does not have it");
    }
    model.head_norm = decoder::LlamaModel::HeadNorm::kEachHead;
    return model;
  }

 private:
  static std::unique_ptr<kit::Model> open_text_part(const kit::Json& config,
                                                    const quench_model_open_args& args) {
    const kit::Json text = text_part(config);
    const decoder::LlamaModel model = read(text);
    tell_unknown_keys(config);
    decoder::tell_unknown_keys(text, dialect());
    decoder::Architecture made = decoder::llama_architecture(model, args.dtype);
    if (args.source == nullptr) {
      TextNames(nullptr).rename(made);
      return std::make_unique<Gemma3Text>(model, std::move(made), args);
    }
    decoder::RenamedSource source(*args.source);
    const TextNames names(&source.base());
    names.rename(made);
    names.show(source);
    quench_model_open_args shown = args;
    shown.source = source.get();
    return std::make_unique<Gemma3Text>(model, std::move(made), shown);
  }
};

}  // namespace

}  // namespace quench::gemma3_text

QUENCH_MODULE("quench.gemma3_text", "0.1.0",
              quench::kit::model<quench::gemma3_text::Gemma3Text>(
                  {.id = "gemma3_text",
                   .version = "0.1.0",
                   .summary = "The text models of Gemma 3, and the text part of others.",
                   .reference = "Gemma team 2025, arXiv 2503.19786",
                   .model_types = "gemma3_text|gemma3"}))
