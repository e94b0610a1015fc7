// Qwen3 (Qwen team 2025, arXiv 2505.09388): Llama with RMS norms on each head of q and k, fewer key
// than query heads, and on request a window in the blocks from max_window_layers on.
#include "models/decoder/llama_config.hpp"
#include "models/decoder/llama_style.hpp"

namespace quench::qwen3 {

namespace {

class Qwen3 final : public decoder::LlamaFamily<Qwen3> {
 public:
  using LlamaFamily::LlamaFamily;

  static decoder::LlamaDialect dialect() {
    decoder::LlamaDialect dialect{"qwen3"};
    dialect.reads_windows = true;
    return dialect;
  }
  static decoder::LlamaModel read(const kit::Json& config) {
    decoder::LlamaModel model = decoder::read_llama_config(config, dialect());
    model.head_norm = decoder::LlamaModel::HeadNorm::kEachHead;
    model.windows = decoder::read_upper_windows(config, model.blocks);
    return model;
  }
};

}  // namespace

}  // namespace quench::qwen3

QUENCH_MODULE(
    "quench.qwen3", "0.1.0",
    quench::kit::model<quench::qwen3::Qwen3>({.id = "qwen3",
                                              .version = "0.1.0",
                                              .summary = "Qwen3 models without experts.",
                                              .reference = "Qwen team 2025, arXiv 2505.09388",
                                              .model_types = "qwen3"}))
