#include "models/mamba/config.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "models/decoder/config.hpp"
#include "models/decoder/nearness.hpp"

namespace quench::mamba {

namespace {

using decoder::required_size;

constexpr int64_t kMaxStates = 4096;
constexpr int64_t kMaxTaps = 256;
constexpr int64_t kMaxExpansion = 64;

// The last ones only say how the reference computes the same thing, or repeat another key in
// converted files.
constexpr std::array<std::string_view, 28> kUnderstood = {
    "conv_kernel",
    "expand",
    "hidden_act",
    "hidden_size",
    "intermediate_size",
    "layer_norm_epsilon",
    "num_hidden_layers",
    "rescale_prenorm_residual",
    "residual_in_fp32",
    "state_size",
    "tie_word_embeddings",
    "time_step_floor",
    "time_step_init_scheme",
    "time_step_max",
    "time_step_min",
    "time_step_rank",
    "time_step_scale",
    "use_bias",
    "use_conv_bias",
    "vocab_size",
    "d_inner",
    "d_model",
    "fused_add_norm",
    "n_layer",
    "pad_vocab_size_multiple",
    "rms_norm",
    "use_associative_scan",
    "use_mambapy",
};

int64_t size_or(const kit::Json& json, const std::string& key, int64_t maximum, int64_t otherwise) {
  return json.has("/" + key) ? required_size(json, key, 1, maximum) : otherwise;
}

// A second name of a size in converted files.
void expect_same(const kit::Json& json, const char* key, int64_t value) {
  const int64_t found = json.integer_or(std::string("/") + key, value);
  if (found != value) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: %s = %lld contradicts %lld", key,
              static_cast<long long>(found), static_cast<long long>(value));
  }
}

int64_t read_rank(const kit::Json& json, int64_t width) {
  const std::string key = "time_step_rank";
  if (json.type("/" + key) != QUENCH_JSON_STRING) {
    return size_or(json, key, width, (width + 15) / 16);
  }
  if (const std::string text = json.string("/" + key); text != "auto") {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: time_step_rank %.60s, wanted a number or auto",
              text.c_str());
  }
  return (width + 15) / 16;
}

double positive_number(const kit::Json& json, const std::string& key, double otherwise) {
  const double value = json.number_or("/" + key, otherwise);
  if (!(value > 0.0 && value < 1e3)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: %s = %g, wanted more than 0 and less than 1000",
              key.c_str(), value);
  }
  return value;
}

InitialSteps read_steps(const kit::Json& json) {
  InitialSteps steps{};
  steps.least = positive_number(json, "time_step_min", 0.001);
  steps.greatest = positive_number(json, "time_step_max", 0.1);
  steps.floor = positive_number(json, "time_step_floor", 1e-4);
  steps.scale = positive_number(json, "time_step_scale", 1.0);
  if (steps.least > steps.greatest) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: time_step_min = %g, time_step_max = %g",
              steps.least, steps.greatest);
  }
  const std::string scheme = json.string_or("/time_step_init_scheme", "random");
  if (scheme != "random" && scheme != "constant") {
    kit::fail(QUENCH_UNSUPPORTED, "config: time_step_init_scheme %.60s, wanted random or constant",
              scheme.c_str());
  }
  steps.constant = scheme == "constant";
  return steps;
}

void check_forward(const kit::Json& json) {
  const std::string activation = json.string_or("/hidden_act", "silu");
  if (activation != "silu") {
    kit::fail(QUENCH_UNSUPPORTED, "config: hidden_act %.60s, wanted silu", activation.c_str());
  }
  if (!json.boolean_or("/rms_norm", true)) {
    kit::fail(QUENCH_UNSUPPORTED, "config: rms_norm = false, wanted true");
  }
}

// An empty ssm_cfg is what converted files have; any other changes the forward.
std::vector<std::string_view> understood_keys(const kit::Json& json) {
  std::vector<std::string_view> understood(kUnderstood.begin(), kUnderstood.end());
  if (json.type("/ssm_cfg") == QUENCH_JSON_OBJECT && json.size("/ssm_cfg") == 0) {
    understood.emplace_back("ssm_cfg");
  }
  return understood;
}

}  // namespace

void tell_unknown_keys(const kit::Json& json) {
  decoder::tell_unknown_keys(json, understood_keys(json));
}

kit::Fit nearness(const kit::Json& json) {
  constexpr std::array<std::string_view, 4> kRequired = {"hidden_size", "num_hidden_layers",
                                                         "state_size", "vocab_size"};
  constexpr std::array<std::string_view, 3> kOwn = {"conv_kernel", "state_size", "time_step_rank"};
  return decoder::nearness(json, {"mamba", kUnderstood, kRequired, kOwn});
}

Config read_config(const kit::Json& json) {
  const std::string type = json.string_or("/model_type", "");
  if (type != "mamba") {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: model_type %.60s, wanted mamba", type.c_str());
  }
  decoder::refuse_unknown_keys(json, "", understood_keys(json));
  Config config{};
  config.blocks = required_size(json, "num_hidden_layers", 1, decoder::kMaxBlocks);
  config.width = required_size(json, "hidden_size", 1, decoder::kMaxWidth);
  config.channels = config.width * size_or(json, "expand", kMaxExpansion, 2);
  config.states = size_or(json, "state_size", kMaxStates, 16);
  config.taps = size_or(json, "conv_kernel", kMaxTaps, 4);
  config.rank = read_rank(json, config.width);
  config.vocabulary = required_size(json, "vocab_size", 1, decoder::kMaxVocabulary);
  config.norm_eps = json.number_or("/layer_norm_epsilon", 1e-5);
  if (!(config.norm_eps > 0.0 && config.norm_eps < 1.0)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: layer_norm_epsilon = %g, wanted (0, 1)",
              config.norm_eps);
  }
  expect_same(json, "intermediate_size", config.channels);
  expect_same(json, "d_inner", config.channels);
  expect_same(json, "d_model", config.width);
  expect_same(json, "n_layer", config.blocks);
  check_forward(json);
  config.bias = json.boolean_or("/use_bias", false);
  config.convolution_bias = json.boolean_or("/use_conv_bias", true);
  config.tied = json.boolean_or("/tie_word_embeddings", true);
  config.initializer_range =
      json.has("/initializer_range") ? decoder::initializer_range(json) : 0.1;
  config.steps = read_steps(json);
  config.shrinks_outputs = json.boolean_or("/rescale_prenorm_residual", false);
  return config;
}

}  // namespace quench::mamba
