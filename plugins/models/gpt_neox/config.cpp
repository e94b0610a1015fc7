#include "models/gpt_neox/config.hpp"

#include <array>
#include <string>
#include <string_view>

#include "models/decoder/config.hpp"
#include "models/decoder/nearness.hpp"

namespace quench::gpt_neox {

namespace {

using decoder::required_size;

constexpr std::array<std::string_view, 17> kUnderstood = {
    "attention_bias",        "hidden_act",        "hidden_size",
    "intermediate_size",     "layer_norm_eps",    "max_position_embeddings",
    "num_attention_heads",   "num_hidden_layers", "partial_rotary_factor",
    "rope_parameters",       "rope_scaling",      "rope_theta",
    "rotary_emb_base",       "rotary_pct",        "tie_word_embeddings",
    "use_parallel_residual", "vocab_size"};
constexpr std::array<std::string_view, 3> kUnderstoodRope = {"partial_rotary_factor", "rope_theta",
                                                             "rope_type"};

void check_rope(const kit::Json& json) {
  if (json.has("/rope_scaling")) {
    kit::fail(QUENCH_UNSUPPORTED, "config: rope_scaling: this family does not have it");
  }
  decoder::refuse_unknown_keys(json, "/rope_parameters", kUnderstoodRope);
  const std::string type = json.string_or("/rope_parameters/rope_type", "default");
  if (type != "default") {
    kit::fail(QUENCH_UNSUPPORTED, "config: rope_parameters: rope_type %.60s, wanted default",
              type.c_str());
  }
}

// The number under `key` or in rope_parameters, or else `usual`. The library also writes `echo`
// beside `key` but never reads it, so `echo` alone must not decide.
double rotary_number(const kit::Json& json, const std::string& key, const std::string& echo,
                     double usual) {
  const std::string old_place = "/" + key;
  const std::string new_place = "/rope_parameters/" + echo;
  const std::array<const char*, 2> places = {old_place.c_str(), new_place.c_str()};
  const double number = decoder::agreed_number(json, places).value_or(usual);
  if (json.number_or("/" + echo, number) != number) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: %s = %g contradicts %s = %g%s", echo.c_str(),
              json.number("/" + echo), key.c_str(), number,
              json.has(old_place) || json.has(new_place) ? "" : " (missing)");
  }
  return number;
}

void read_rotary(const kit::Json& json, Config& config) {
  check_rope(json);
  const double part = rotary_number(json, "rotary_pct", "partial_rotary_factor", 0.25);
  config.rotary_theta = rotary_number(json, "rotary_emb_base", "rope_theta", 10000.0);
  if (!(part > 0.0 && part <= 1.0)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: rotary_pct = %g, wanted a share in (0, 1]", part);
  }
  if (!(config.rotary_theta > 1.0 && config.rotary_theta < 1e12)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: rotary_emb_base = %g, wanted 1..1e12",
              config.rotary_theta);
  }
  config.rotary_dims =
      static_cast<int64_t>(static_cast<double>(config.head_width()) * part);  // truncates, like HF
  // The reference takes ceil(n/2) frequencies for n elements and rotates twice that many elements.
  const int64_t turned = (config.rotary_dims + 1) / 2 * 2;
  if (config.rotary_dims < 1 || turned > config.head_width()) {
    kit::fail(QUENCH_INVALID_ARGUMENT,
              "config: rotary_pct = %g of a head of %lld: %lld rotary elements, wanted 1..%lld",
              part, static_cast<long long>(config.head_width()),
              static_cast<long long>(config.rotary_dims),
              static_cast<long long>(config.head_width() / 2 * 2));
  }
}

}  // namespace

kit::Fit nearness(const kit::Json& json) {
  constexpr std::array<std::string_view, 6> kRequired = {
      "hidden_size",         "intermediate_size", "max_position_embeddings",
      "num_attention_heads", "num_hidden_layers", "vocab_size"};
  constexpr std::array<std::string_view, 3> kOwn = {"layer_norm_eps", "rotary_pct",
                                                    "use_parallel_residual"};
  return decoder::nearness(json, {"gpt_neox", kUnderstood, kRequired, kOwn});
}

void tell_unknown_keys(const kit::Json& json) {
  decoder::tell_unknown_keys(json, kUnderstood);
}

Config read_config(const kit::Json& json) {
  const std::string type = json.string_or("/model_type", "");
  if (type != "gpt_neox") {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: model_type %.60s, wanted gpt_neox", type.c_str());
  }
  decoder::refuse_unknown_keys(json, "", kUnderstood);
  Config config{};
  config.blocks = required_size(json, "num_hidden_layers", 1, decoder::kMaxBlocks);
  config.width = required_size(json, "hidden_size", 1, decoder::kMaxWidth);
  config.heads = required_size(json, "num_attention_heads", 1, config.width);
  config.inner = required_size(json, "intermediate_size", 1, 4 * decoder::kMaxWidth);
  config.vocabulary = required_size(json, "vocab_size", 1, decoder::kMaxVocabulary);
  config.max_positions = required_size(json, "max_position_embeddings", 1, decoder::kMaxPositions);
  if (config.width % config.heads != 0) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: hidden_size %lld is no multiple of %lld heads",
              static_cast<long long>(config.width), static_cast<long long>(config.heads));
  }
  const std::string activation = json.string_or("/hidden_act", "gelu");
  if (activation != "gelu") {
    kit::fail(QUENCH_UNSUPPORTED, "config: hidden_act %.60s, wanted gelu", activation.c_str());
  }
  read_rotary(json, config);
  config.norm_eps = json.number_or("/layer_norm_eps", 1e-5);
  if (!(config.norm_eps > 0.0 && config.norm_eps < 1.0)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: layer_norm_eps = %g, wanted (0, 1)",
              config.norm_eps);
  }
  config.parallel = json.boolean_or("/use_parallel_residual", true);
  config.attention_bias = json.boolean_or("/attention_bias", true);
  config.tied = json.boolean_or("/tie_word_embeddings", false);
  config.initializer_range = decoder::initializer_range(json);
  return config;
}

}  // namespace quench::gpt_neox
