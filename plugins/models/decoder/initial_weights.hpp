// Initial weights of a model without a checkpoint.
#pragma once

#include <ATen/core/Tensor.h>

#include "models/decoder/weights.hpp"

namespace quench::decoder {

// Fills `to` as the Transformers library initializes it: matrices, embeddings and heads are normal
// with mean 0 and standard deviation `range` (the config's initializer_range), biases are 0, norm
// scales are 1, or spec.initial, or spec.draw. A normal element i uses numbers 2 floor(i/2) and the
// next of the random service's stream "init/<name>" (Box and Muller 1958), one of spec.draw number
// i. Throws UNSUPPORTED for a tensor without a
// rule, and for all tensors if `range` is not positive.
void draw(const WeightSpec& spec, double range, const at::Tensor& to);

}  // namespace quench::decoder
