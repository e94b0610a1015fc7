// seventh: Llama with RMS norms on each head of q and k before rotation (Qwen 3's way), heads whose
// width the config names, and no sliding window. Written from sdk/template/decoder after
// docs/writing-a-plugin.md.
#include <array>
#include <string_view>

#include "models/decoder/llama_config.hpp"
#include "models/decoder/llama_style.hpp"

namespace decoder = quench::decoder;
namespace kit = quench::kit;

namespace {

constexpr std::array<std::string_view, 3> kOwnKeys = {"max_window_layers", "sliding_window",
                                                      "use_sliding_window"};

class Seventh final : public decoder::LlamaFamily<Seventh> {
 public:
  using LlamaFamily::LlamaFamily;

  static decoder::LlamaDialect dialect() {
    decoder::LlamaDialect dialect{"seventh"};
    dialect.usually_tied = true;
    dialect.more = kOwnKeys;
    return dialect;
  }
  static decoder::LlamaModel read(const kit::Json& config) {
    decoder::LlamaModel model = decoder::read_llama_config(config, dialect());
    decoder::require_boolean(config, "use_sliding_window", false);
    model.head_norm = decoder::LlamaModel::HeadNorm::kEachHead;
    return model;
  }
};

}  // namespace

QUENCH_MODULE("org.example.seventh", "0.1.0",
              kit::model<Seventh>({.id = "seventh",
                                   .version = "0.1.0",
                                   .summary = "Llama with norms on each head of q and k."}))
