// open-sci-ref 0.01 (Nezhurina et al. 2025, arXiv 2509.09009): Llama with biases on every linear of
// a block, RMS norms on each head of q and k, and a tied output head.
//
// The first converter writes `mlp_bias` and `qk_layernorm`. OpenEuroLLM's port to Transformers
// (2025: Qwen3 plus `mlp_bias`, which defaults to true) writes neither and always has the norms, so
// a config without these keys has both. If the weights disagree, opening the model names them.
//
// The converter of the published checkpoints writes Megatron's `norm_epsilon` twice, as
// `rms_norm_eps`, from which the forward takes it, and as `layer_norm_eps`, which no forward reads
// (Transformers keeps unknown keys as attributes). Two that differ are refused.
#include <array>
#include <string_view>

#include "models/decoder/llama_config.hpp"
#include "models/decoder/llama_style.hpp"

namespace quench::opensci {

namespace {

constexpr std::array<std::string_view, 1> kOwnKeys = {"qk_layernorm"};

class Opensci final : public decoder::LlamaFamily<Opensci> {
 public:
  using LlamaFamily::LlamaFamily;

  static decoder::LlamaDialect dialect() {
    decoder::LlamaDialect dialect{"opensci"};
    dialect.usually_tied = true;
    dialect.repeats_eps = true;
    dialect.has_mlp_bias = true;
    dialect.has_windows = true;
    dialect.more = kOwnKeys;
    return dialect;
  }
  static decoder::LlamaModel read(const kit::Json& config) {
    decoder::LlamaModel model = decoder::read_llama_config(config, dialect());
    model.mlp_bias = config.boolean_or("/mlp_bias", true);
    if (config.boolean_or("/qk_layernorm", true)) {
      model.head_norm = decoder::LlamaModel::HeadNorm::kEachHead;
      model.head_norm_alias = "layernorm";  // some converters write q_layernorm, k_layernorm
    }
    return model;
  }
};

}  // namespace

}  // namespace quench::opensci

QUENCH_MODULE("quench.opensci", "0.1.0",
              quench::kit::model<quench::opensci::Opensci>(
                  {.id = "opensci",
                   .version = "0.1.0",
                   .summary = "open-sci-ref models.",
                   .reference = "Nezhurina et al. 2025, arXiv 2509.09009",
                   .model_types = "opensci"}))
