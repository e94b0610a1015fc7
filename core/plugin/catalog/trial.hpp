// Creating an item once with its default parameters, to see that it can be.
#pragma once

#include <optional>
#include <string>

#include "core/plugin/catalog/description.hpp"
#include "quench/abi/module.h"

namespace quench {

// Creates and destroys the item (models: asks its probe about an empty config). Returns a remark
// when that cannot be tried or fails in a way that only parameters can mend, else "". Throws Error
// when it breaks its contract.
std::string try_item(const PluginDescription& description, const quench_item& item);

// What a quantizer's instance with default parameters says of itself; what a format does. Nothing
// for other kinds, and where default parameters make none.
std::optional<DefaultInstance> default_instance(const PluginDescription& description,
                                                const quench_item& item);

}  // namespace quench
