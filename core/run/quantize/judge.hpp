// Who measures the output error of a quantizer that cannot do so itself.
#pragma once

#include <optional>

#include "core/plugin/catalog.hpp"
#include "core/plugin/quantizer_handle.hpp"

namespace quench {

// The first quantizer of the catalog that offers the Gram extension with its default parameters.
std::optional<QuantizerHandle> find_judge(Catalog& catalog);

}  // namespace quench
