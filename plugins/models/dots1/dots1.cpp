// dots1, which is dots.llm1 (rednote-hilab 2025, arXiv 2506.05767): Qwen3's attention, and from
// block first_k_dense_replace on a sparse mixture of experts, picked by sigmoids with a bias,
// beside an MLP that every token has.
#include <array>
#include <string>
#include <string_view>

#include "models/decoder/config.hpp"
#include "models/decoder/llama_config.hpp"
#include "models/decoder/llama_style.hpp"

namespace quench::dots1 {

namespace {

// The last three do nothing in transformers, which has one way of each.
constexpr std::array<std::string_view, 12> kOwnKeys = {
    "first_k_dense_replace", "moe_intermediate_size", "n_group",
    "n_routed_experts",      "n_shared_experts",      "norm_topk_prob",
    "num_experts_per_tok",   "routed_scaling_factor", "topk_group",
    "moe_layer_freq",        "scoring_func",          "topk_method"};

constexpr double kLargestScale = 1e6;

void require_one(const kit::Json& config, const char* key) {
  const std::string place = std::string("/") + key;
  if (config.has(place) && config.integer(place) != 1) {
    kit::fail(QUENCH_UNSUPPORTED, "config: %s = %lld, wanted 1", key,
              static_cast<long long>(config.integer(place)));
  }
}

void read_experts(const kit::Json& config, decoder::LlamaModel& model) {
  model.experts =
      decoder::required_size(config, "n_routed_experts", 1, decoder::kMaxExperts / model.blocks);
  model.picks = decoder::required_size(config, "num_experts_per_tok", 1, model.experts);
  model.expert_inner =
      decoder::required_size(config, "moe_intermediate_size", 1, 4 * decoder::kMaxWidth);
  model.shared_inner = decoder::required_size(config, "n_shared_experts", 1,
                                              4 * decoder::kMaxWidth / model.expert_inner) *
                       model.expert_inner;
  model.dense_blocks =
      config.has("/first_k_dense_replace")
          ? decoder::required_size(config, "first_k_dense_replace", 0, decoder::kMaxBlocks)
          : 0;
  model.sigmoid_routing = true;
  model.shares_sum_to_one = config.boolean_or("/norm_topk_prob", false);
  model.share_scale = config.number_or("/routed_scaling_factor", 1.0);
  if (!(model.share_scale > 0.0 && model.share_scale <= kLargestScale)) {
    kit::fail(QUENCH_INVALID_ARGUMENT,
              "config: routed_scaling_factor = %g, wanted more than 0 and at most %g",
              model.share_scale, kLargestScale);
  }
}

class Dots1 final : public decoder::LlamaFamily<Dots1> {
 public:
  using LlamaFamily::LlamaFamily;

  static decoder::LlamaDialect dialect() {
    decoder::LlamaDialect dialect{"dots1"};
    dialect.usual_theta = 10000.0;
    dialect.reads_windows = true;
    dialect.more = kOwnKeys;
    return dialect;
  }
  static decoder::LlamaModel read(const kit::Json& config) {
    decoder::LlamaModel model = decoder::read_llama_config(config, dialect());
    model.head_norm = decoder::LlamaModel::HeadNorm::kEachHead;
    read_experts(config, model);
    for (const char* key : {"n_group", "topk_group", "moe_layer_freq"}) {
      require_one(config, key);
    }
    // The library does not ask use_sliding_window.
    const int64_t first =
        config.has("/max_window_layers")
            ? decoder::required_size(config, "max_window_layers", 0, decoder::kMaxBlocks)
            : 62;
    model.windows = decoder::read_windows(config, model.blocks, [&](int64_t block) {
      return config.has("/sliding_window") && block >= first;
    });
    return model;
  }
};

}  // namespace

}  // namespace quench::dots1

QUENCH_MODULE("quench.dots1", "0.1.0",
              quench::kit::model<quench::dots1::Dots1>(
                  {.id = "dots1",
                   .version = "0.1.0",
                   .summary = "dots.llm1 models, a sparse mixture of experts beside a shared one.",
                   .reference = "rednote-hilab 2025, arXiv 2506.05767",
                   .model_types = "dots1"}))
