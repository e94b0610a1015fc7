// Rotary settings of a config.json, and the frequencies that follow from them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "quench/kit/json.hpp"

namespace quench::decoder {

struct RopeSettings {
  // kLlama3 (Llama 3.1): `factor` slows long waves down, short waves stay, waves in between are
  // blended. kYarn (Peng et al. 2023, arXiv 2309.00071): the same by pairs, and longer vectors.
  enum class Kind { kPlain, kLinear, kLlama3, kYarn };
  Kind kind = Kind::kPlain;
  double theta = 0.0;
  double factor = 1.0;
  // For kLlama3 and kYarn: a wave is long if it fits less than `low` times into `original`
  // positions, and short if it fits more than `high` times.
  double low = 0.0;
  double high = 0.0;
  double original = 0.0;
  double magnitude = 1.0;  // multiplies cosines and sines
};

// Reads `rope_theta` and `rope_scaling`, or `rope_parameters`, which holds both. A config without a
// theta gets `usual_theta`, or INVALID_ARGUMENT if that is empty. UNSUPPORTED names a type or a key
// that is not understood. `only` is the place of an object that holds all, if not these.
RopeSettings read_rope(const kit::Json& config, std::optional<double> usual_theta,
                       const std::string& only = "");

// `theta` if it can be a base of frequencies; else INVALID_ARGUMENT names `key`.
double checked_theta(double theta, const char* key);

// Float32 [dims/2], computed in float32 like the reference.
at::Tensor frequencies(const RopeSettings& rope, int64_t dims);

}  // namespace quench::decoder
