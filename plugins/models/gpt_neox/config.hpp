// The config.json of GPT-NeoX models (Black et al. 2022), Pythia above all.
#pragma once

#include <cstdint>

#include "models/decoder/decoder.hpp"
#include "quench/kit/host.hpp"
#include "quench/kit/model.hpp"

namespace quench::gpt_neox {

struct Config {
  int64_t blocks;
  int64_t width;
  int64_t heads;
  int64_t inner;  // width of the MLP
  int64_t vocabulary;
  int64_t max_positions;
  int64_t rotary_dims;  // of each head, from its front; an odd number turns one more
  double rotary_theta;
  double norm_eps;
  bool parallel;        // h + attention(LN1 h) + mlp(LN2 h); else one after the other
  bool attention_bias;  // of query_key_value and dense
  bool tied;            // output head = token embedding
  double initializer_range;

  int64_t head_width() const { return width / heads; }
};

// Throws with the key's name: INVALID_ARGUMENT for values out of range or in contradiction,
// UNSUPPORTED for keys that are not understood.
Config read_config(const kit::Json& json);

// What keeps a config of another model_type from being one of this family's.
kit::Fit nearness(const kit::Json& json);

// Weights, blocks, stages, groups of a model with that config whose residual stream is in `dtype`.
decoder::Architecture architecture(const Config& config, quench_dtype dtype);

}  // namespace quench::gpt_neox
