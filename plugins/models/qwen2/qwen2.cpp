// Qwen2 and Qwen2.5 (Qwen team 2024, arXiv 2407.10671): Llama with biases on q, k and v alone,
// fewer key than query heads, and on request a window in the blocks from max_window_layers on.
#include "models/decoder/config.hpp"
#include "models/decoder/llama_config.hpp"
#include "models/decoder/llama_style.hpp"

namespace quench::qwen2 {

namespace {

class Qwen2 final : public decoder::LlamaFamily<Qwen2> {
 public:
  using LlamaFamily::LlamaFamily;

  static decoder::LlamaDialect dialect() {
    decoder::LlamaDialect dialect{"qwen2"};
    dialect.reads_windows = true;
    return dialect;
  }
  static decoder::LlamaModel read(const kit::Json& config) {
    decoder::LlamaModel model = decoder::read_llama_config(config, dialect());
    decoder::require_boolean(config, "attention_bias", true);  // a key of other families
    model.attention_bias = true;
    model.output_bias = false;
    model.windows = decoder::read_upper_windows(config, model.blocks);
    return model;
  }
};

}  // namespace

}  // namespace quench::qwen2

QUENCH_MODULE(
    "quench.qwen2", "0.1.0",
    quench::kit::model<quench::qwen2::Qwen2>({.id = "qwen2",
                                              .version = "0.1.0",
                                              .summary = "Qwen2 and Qwen2.5 models.",
                                              .reference = "Qwen team 2024, arXiv 2407.10671",
                                              .model_types = "qwen2"}))
