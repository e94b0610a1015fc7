// SmolLM3 (Hugging Face 2025): Llama with rotary positions in some blocks only (NoPE, Yang et al.
// 2025, arXiv 2501.18795), fewer key than query heads, and a tied output head.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "models/decoder/config.hpp"
#include "models/decoder/llama_config.hpp"
#include "models/decoder/llama_style.hpp"

namespace quench::smollm3 {

namespace {

constexpr std::array<std::string_view, 2> kOwnKeys = {"no_rope_layer_interval", "no_rope_layers"};

// Despite its name, no_rope_layers holds 1 for a block with rotary positions and 0 for one without.
// If it is missing, every no_rope_layer_interval-th block has none.
std::vector<bool> unrotated_blocks(const kit::Json& config, int64_t blocks) {
  std::vector<bool> unrotated;
  if (!config.has("/no_rope_layers")) {
    const int64_t interval =
        decoder::required_size(config, "no_rope_layer_interval", 1, decoder::kMaxBlocks);
    for (int64_t i = 0; i < blocks; ++i) {
      unrotated.push_back((i + 1) % interval == 0);
    }
    return unrotated;
  }
  if (config.size("/no_rope_layers") != static_cast<uint64_t>(blocks)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: no_rope_layers: wanted a list of %lld numbers",
              static_cast<long long>(blocks));
  }
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t rotated = config.integer("/no_rope_layers/" + std::to_string(i));
    if (rotated != 0 && rotated != 1) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "config: no_rope_layers: %lld, wanted 0 or 1",
                static_cast<long long>(rotated));
    }
    unrotated.push_back(rotated == 0);
  }
  return unrotated;
}

class SmolLm3 final : public decoder::LlamaFamily<SmolLm3> {
 public:
  using LlamaFamily::LlamaFamily;

  static decoder::LlamaDialect dialect() {
    decoder::LlamaDialect dialect{"smollm3"};  // rope_theta differs between training stages
    dialect.usually_tied = true;
    dialect.has_mlp_bias = true;
    dialect.has_windows = true;
    dialect.more = kOwnKeys;
    return dialect;
  }
  static decoder::LlamaModel read(const kit::Json& config) {
    decoder::LlamaModel model = decoder::read_llama_config(config, dialect());
    model.unrotated = unrotated_blocks(config, model.blocks);
    return model;
  }
};

}  // namespace

}  // namespace quench::smollm3

QUENCH_MODULE("quench.smollm3", "0.1.0",
              quench::kit::model<quench::smollm3::SmolLm3>(
                  {.id = "smollm3",
                   .version = "0.1.0",
                   .summary = "SmolLM3 models, with rotary positions in some blocks only.",
                   .reference = "Hugging Face 2025, SmolLM3: smol, multilingual, long-context "
                                "reasoner",
                   .model_types = "smollm3"}))
