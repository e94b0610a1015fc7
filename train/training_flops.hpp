// The arithmetic of a training, from shapes.
#pragma once

#include <cstdint>

#include "core/plugin/handles/model_handle.hpp"

namespace quench {

uint64_t elements_of(const quench_parameter_info& parameter);

// Floating-point operations of a forward and a backward per token of sequences of `length`: 6 per
// element of a linear and of the head, and the causal half of attention. `model` may be open for
// its shapes only (QUENCH_OPEN_SHAPES).
double training_flops_per_token(const ModelHandle& model, uint64_t length);

}  // namespace quench
