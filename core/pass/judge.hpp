// Finds the evaluator of layer errors: a quantizer for those that cannot measure their own error.
#pragma once

#include <optional>

#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/handles/quantizer_handle.hpp"

namespace quench {

// Considers the shipped quantizers that keep the Gram matrix of their rows: takes the
// first by id that needs no activations itself, and so collects nothing but the Gram matrix; else
// the first of them; nullptr if there is none. Never takes a stranger, so other libraries on the
// search path change no number and run no code. Loads nothing.
const PluginDescription* judge_of(const Catalog& catalog);

// Whether a quantizer measures the output error of its layers itself and needs no other to do so.
// One that cannot be created with default parameters counts as not.
bool measures_layer_errors(const PluginDescription& quantizer);

// An instance of judge_of().
std::optional<QuantizerHandle> find_judge(Catalog& catalog);

}  // namespace quench
