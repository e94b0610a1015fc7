// The config.json of GPT-NeoX models (Black et al. 2022), such as Pythia.
#pragma once

#include <cstdint>

#include "models/decoder/decoder.hpp"
#include "quench/kit/json.hpp"
#include "quench/kit/model.hpp"

namespace quench::gpt_neox {

struct Config {
  int64_t blocks;
  int64_t width;
  int64_t heads;
  int64_t inner;  // MLP width
  int64_t vocabulary;
  int64_t max_positions;
  int64_t rotary_dims;  // per head, from the front; an odd number rotates one more
  double rotary_theta;
  double norm_eps;
  bool parallel;        // h + attention(LN1 h) + mlp(LN2 h); otherwise in sequence
  bool attention_bias;  // whether query_key_value and dense have biases
  bool tied;            // output head = token embedding
  double initializer_range;

  int64_t head_width() const { return width / heads; }
};

// Throws with the key's name: INVALID_ARGUMENT for values that are out of range or contradict each
// other, UNSUPPORTED for keys that are not understood and might change the forward.
Config read_config(const kit::Json& json);

// Warns of keys that nothing is known of.
void tell_unknown_keys(const kit::Json& json);

// How far a config of another model_type is from this family, and why.
kit::Fit nearness(const kit::Json& json);

// Weights, blocks, stages and groups of such a model, whose residual stream has type `dtype`.
decoder::Architecture architecture(const Config& config, quench_dtype dtype);

}  // namespace quench::gpt_neox
