// Llama (Touvron et al. 2023, arXiv 2302.13971), also the family of Amber (Liu et al. 2023, arXiv
// 2312.06550): RMS norms before attention and a SwiGLU MLP, rotary positions.
#include <array>

#include "models/decoder/llama_config.hpp"
#include "models/decoder/llama_style.hpp"

namespace quench::llama {

namespace {

class Llama final : public decoder::LlamaFamily<Llama> {
 public:
  using LlamaFamily::LlamaFamily;

  static decoder::LlamaDialect dialect() {
    decoder::LlamaDialect dialect{"llama"};
    dialect.usual_theta = 10000.0;  // for configs that are older than the key
    dialect.has_mlp_bias = true;
    return dialect;
  }
  static decoder::LlamaModel read(const kit::Json& config) {
    return decoder::read_llama_config(config, dialect());
  }
};

}  // namespace

}  // namespace quench::llama

QUENCH_MODULE("quench.llama", "0.1.0",
              quench::kit::model<quench::llama::Llama>(
                  {.id = "llama",
                   .version = "0.1.0",
                   .summary = "Llama and models with its architecture, such as Amber.",
                   .reference = "Touvron et al. 2023, arXiv 2302.13971",
                   .model_types = "llama"}))
