// The config.json of Mamba models (Gu and Dao 2023), as the Transformers library writes it.
#pragma once

#include <cstdint>

#include "models/decoder/decoder.hpp"
#include "quench/kit/json.hpp"
#include "quench/kit/model.hpp"

namespace quench::mamba {

// How the steps Δ of a new model are drawn; a checkpoint does not need it.
struct InitialSteps {
  double least;     // Δ without input is drawn between these, evenly on a logarithmic scale, ...
  double greatest;  //
  double floor;     // ... and raised to this
  double scale;     // of dt_proj's weight
  bool constant;    // dt_proj's weight is a constant; otherwise it is drawn evenly around 0
};

struct Config {
  int64_t blocks;
  int64_t width;
  int64_t channels;  // inner width
  int64_t states;    // per channel
  int64_t taps;      // of the convolution
  int64_t rank;      // of the steps: x_proj makes `rank` numbers, dt_proj makes a Δ per channel
  int64_t vocabulary;
  double norm_eps;
  bool bias;              // whether in_proj and out_proj have biases
  bool convolution_bias;  // whether the convolution has one
  bool tied;              // output head = token embedding
  double initializer_range;
  InitialSteps steps;
  bool shrinks_outputs;  // a new out_proj is divided by the root of the number of blocks
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

}  // namespace quench::mamba
