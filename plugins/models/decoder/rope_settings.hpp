// Rotary settings as config.json has them, and the frequencies they mean.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "quench/kit/host.hpp"

namespace quench::decoder {

struct RopeSettings {
  // kLlama3 (Llama 3.1): long waves are slowed down by `factor`, short ones kept, those between
  // blended.
  enum class Kind { kPlain, kLinear, kLlama3 };
  Kind kind = Kind::kPlain;
  double theta = 0.0;
  double factor = 1.0;
  // Of kLlama3: a wave is long or short when it fits less than `low` or more than `high` times into
  // `original` positions.
  double low = 0.0;
  double high = 0.0;
  double original = 0.0;
};

// From `rope_theta` and `rope_scaling`, or from `rope_parameters` that holds both. Without a theta
// in the config it is `usual_theta`, and INVALID_ARGUMENT when there is none of that either.
// UNSUPPORTED names a type or a key that is not understood.
RopeSettings read_rope(const kit::Json& config, std::optional<double> usual_theta);

// Float32 [dims/2], computed in float32 as the reference does.
at::Tensor frequencies(const RopeSettings& rope, int64_t dims);

}  // namespace quench::decoder
