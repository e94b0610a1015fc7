// their_qwen3: Llama with RMS norms on each head of q and k, and on request a window in the upper
// blocks.
#include "models/decoder/llama_config.hpp"
#include "models/decoder/llama_style.hpp"

namespace decoder = quench::decoder;
namespace kit = quench::kit;

namespace {

class TheirQwen3 final : public decoder::LlamaFamily<TheirQwen3> {
 public:
  using LlamaFamily::LlamaFamily;

  static decoder::LlamaDialect dialect() {
    decoder::LlamaDialect dialect{"their_qwen3"};
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

QUENCH_MODULE("their_qwen3", "0.1.0",
              kit::model<TheirQwen3>({.id = "their_qwen3",
                                      .version = "0.1.0",
                                      .summary = "Norms on each head of q and k.",
                                      .model_types = "their_qwen3"}))
