// Finds the first numbers that are not finite, for the message about such a loss.
#pragma once

#include <cstddef>
#include <string>

#include "core/pass/activation_stream.hpp"
#include "core/plugin/handles/model_handle.hpp"

namespace quench {

// "weight lm_head.weight is nan at [3, 5]", for the first such weight in the model's order, or "all
// weights are finite". Reads the weights.
std::string where_weights_break(const ModelHandle& model);

// "the embedding is inf", "h is nan behind stage 2 of block 3" or "all activations are finite":
// runs the micro-batch again, which then stands after that stage.
std::string where_activations_break(ModelHandle& model, ActivationStream& stream, size_t batch);

}  // namespace quench
