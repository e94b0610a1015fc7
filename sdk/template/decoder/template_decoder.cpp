// template_decoder: a model family with Llama's layout, on the library that the built-in families
// share. This file only says how its models differ from Llama; the library does the rest.
//
// | parameter | type | default | range | meaning |
// |-----------|------|---------|-------|---------|
// | none      |      |         |       |         |
//
//   checkpoints:
//     model: path/of/a/folder    # config.json with {"model_type": "template_decoder", ...}
#include <array>
#include <string_view>

#include "models/decoder/llama_config.hpp"
#include "models/decoder/llama_style.hpp"

namespace decoder = quench::decoder;
namespace kit = quench::kit;

namespace {

// Keys that only this family's configs have. Keys that are listed nowhere are refused.
constexpr std::array<std::string_view, 1> kOwnKeys = {"clip_qkv"};

class TemplateDecoder final : public decoder::LlamaFamily<TemplateDecoder> {
 public:
  using LlamaFamily::LlamaFamily;

  // How its configs differ from Llama's; see LlamaDialect.
  static decoder::LlamaDialect dialect() {
    decoder::LlamaDialect dialect{"template_decoder"};
    dialect.more = kOwnKeys;
    return dialect;
  }
  // How its forward differs; see LlamaModel. Here it clamps q, k and v.
  static decoder::LlamaModel read(const kit::Json& config) {
    decoder::LlamaModel model = decoder::read_llama_config(config, dialect());
    model.clip_qkv = decoder::read_clip(config);
    return model;
  }
};

}  // namespace

QUENCH_MODULE("template_decoder", "0.1.0",
              kit::model<TemplateDecoder>({.id = "template_decoder",
                                           .version = "0.1.0",
                                           .summary = "Llama with clamped q, k and v."}))
