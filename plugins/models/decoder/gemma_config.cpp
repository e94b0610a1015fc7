#include "models/decoder/gemma_config.hpp"

#include <array>
#include <cmath>
#include <string>

#include "models/decoder/config.hpp"

namespace quench::decoder {

namespace {

// A cap far above what a score can be caps nothing; one that float32 does not hold gives NaN.
constexpr double kLargestCap = 1e9;

}  // namespace

LlamaDialect gemma_dialect(std::string_view model_type) {
  LlamaDialect dialect{model_type};
  dialect.activation = "gelu_pytorch_tanh";
  dialect.usually_tied = true;
  dialect.reads_windows = true;
  dialect.more = kGemmaKeys;
  return dialect;
}

LlamaModel read_gemma_config(const kit::Json& config, const LlamaDialect& dialect,
                             int64_t pattern) {
  LlamaModel model = read_llama_config(config, dialect);
  if (!config.has("/head_dim")) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: head_dim is missing");
  }
  const std::string wanted(dialect.activation);
  const std::string act = config.string_or("/hidden_activation", wanted);
  if (act != wanted) {
    kit::fail(QUENCH_UNSUPPORTED, "config: hidden_activation %.60s, wanted %s", act.c_str(),
              wanted.c_str());
  }
  require_boolean(config, "use_bidirectional_attention", false);
  const int64_t scalar = config.has("/query_pre_attn_scalar")
                             ? required_size(config, "query_pre_attn_scalar", 1, kMaxWidth)
                             : 256;
  if (config.has("/sliding_window_pattern")) {
    pattern = required_size(config, "sliding_window_pattern", 1, kMaxBlocks);
  }
  // The larger Gemma 2 say it twice.
  constexpr std::array<const char*, 2> kWindow = {"/sliding_window", "/sliding_window_size"};
  agreed_number(config, kWindow);
  model.score_scale = 1.0 / std::sqrt(static_cast<double>(scalar));
  model.logit_cap = read_cap(config, "final_logit_softcapping", 0.0);
  model.embedding_scale = std::sqrt(static_cast<double>(model.width));
  model.windows =
      read_windows(config, model.blocks, [&](int64_t block) { return (block + 1) % pattern != 0; });
  model.gate = LlamaModel::Gate::kGeluByTanh;
  model.norm_place = LlamaModel::Place::kAroundBranch;
  model.norm_rounding = NormRounding::kAfterWeight;
  model.norm_offset = 1.0;
  model.mlp_norm = "pre_feedforward_layernorm";
  return model;
}

double read_cap(const kit::Json& config, const char* key, double usual) {
  const std::string place = std::string("/") + key;
  if (!config.has(place)) {
    return config.type(place) == QUENCH_JSON_ABSENT ? usual : 0.0;
  }
  const double cap = config.number(place);
  if (!(cap > 0.0 && cap <= kLargestCap)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: %s = %g, wanted more than 0 and at most %g", key,
              cap, kLargestCap);
  }
  return cap;
}

}  // namespace quench::decoder
