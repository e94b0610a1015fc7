// Who measures the output error of a quantizer that cannot do so itself.
#pragma once

#include <optional>

#include "core/plugin/catalog.hpp"
#include "core/plugin/quantizer_handle.hpp"

namespace quench {

// Of the quantizers that come with the program and offer the Gram extension with their default
// parameters: the first by id that needs no rows for itself, and so gathers nothing but the Gram
// matrix; else the first of them. nullptr where there is none. A stranger never judges, so what
// else lies on the search path changes no number and runs no code. Nothing is loaded to find it.
const PluginDescription* judge_of(const Catalog& catalog);

// Whether a quantizer measures the output error of its layers itself, so that nobody is asked to do
// it in its place. One that cannot be made with default parameters does not count as such.
bool measures_layer_errors(const PluginDescription& quantizer);

// An instance of judge_of().
std::optional<QuantizerHandle> find_judge(Catalog& catalog);

}  // namespace quench
