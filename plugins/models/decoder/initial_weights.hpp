// Weights of a model that has not been trained.
#pragma once

#include <ATen/core/Tensor.h>

#include "models/decoder/weights.hpp"

namespace quench::decoder {

// Fills `to` as the Transformers library initializes: matrices, embeddings and heads normal with
// mean 0 and standard deviation `range` (the config's initializer_range), biases 0, scales of norms
// 1, or spec.initial. Element i comes from the random service's stream "init/<name>", numbers
// 2 floor(i/2) and the next (Box and Muller 1958). UNSUPPORTED for a tensor without a rule, and for
// any when `range` is not positive.
void draw(const WeightSpec& spec, double range, const at::Tensor& to);

}  // namespace quench::decoder
