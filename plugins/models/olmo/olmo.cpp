// OLMo 1 (Groeneveld et al. 2024, arXiv 2402.00838): Llama with layer norms without weights. Some
// models clamp queries, keys and values to [-clip_qkv, clip_qkv]. Also opens the first files of
// these models (original.hpp), whose weights then appear under the later names.
#include <array>
#include <memory>
#include <string_view>

#include "models/decoder/llama_config.hpp"
#include "models/decoder/llama_style.hpp"
#include "models/olmo/original.hpp"
#include "quench/abi/kind/model.h"

namespace quench::olmo {

namespace {

constexpr std::array<std::string_view, 1> kOwnKeys = {"clip_qkv"};

class Olmo final : public decoder::LlamaFamily<Olmo> {
 public:
  using LlamaFamily::LlamaFamily;

  static kit::Fit probe(const kit::Json& config) {
    if (is_original(config)) {
      read_original(config);
      return 100;
    }
    return LlamaFamily::probe(config);
  }
  static std::unique_ptr<kit::Model> open(const quench_model_open_args& args) {
    const kit::Json config(args.config_json, args.config_bytes);
    if (!is_original(config)) {
      return LlamaFamily::open(args);
    }
    const decoder::LlamaModel model = read_original(config);
    tell_unknown_original_keys(config);
    if ((args.flags & (QUENCH_OPEN_INITIALIZE | QUENCH_OPEN_SHAPES)) != 0) {
      return std::make_unique<Olmo>(model, args);  // throws: there is no rule to draw weights
    }
    kit::expects(args.source != nullptr, "open: no tensor source");
    decoder::RenamedSource renamed(*args.source);
    rename_original(model, renamed);
    quench_model_open_args shown = args;
    shown.source = renamed.get();
    return std::make_unique<Olmo>(model, shown);
  }

  static decoder::LlamaDialect dialect() {
    decoder::LlamaDialect dialect{"olmo"};
    dialect.usual_theta = 10000.0;
    dialect.has_rms_eps = false;  // it is always 1e-5
    dialect.more = kOwnKeys;
    return dialect;
  }
  static decoder::LlamaModel read(const kit::Json& config) {
    decoder::LlamaModel model = decoder::read_llama_config(config, dialect());
    model.norm = decoder::LlamaModel::Norm::kLayerWithoutWeights;
    model.wide_rotation = true;
    model.clip_qkv = decoder::read_clip(config);
    return model;
  }
};

}  // namespace

}  // namespace quench::olmo

QUENCH_MODULE("quench.olmo", "0.1.0",
              quench::kit::model<quench::olmo::Olmo>(
                  {.id = "olmo",
                   .version = "0.1.0",
                   .summary = "OLMo 1 models, from Transformers files or the first ones (hf_olmo).",
                   .reference = "Groeneveld et al. 2024, arXiv 2402.00838",
                   .model_types = "olmo|hf_olmo"}))
