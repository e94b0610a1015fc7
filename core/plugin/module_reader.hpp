// A module's own structures, checked before they are believed.
#pragma once

#include <vector>

#include "core/plugin/description.hpp"
#include "quench/abi/module.h"

namespace quench {

// Checks versions, sizes, flags and pointers of a module and of its items, tables included, and
// copies what it says. Fills everything of a description but library, sha256 and links. Whether the
// content makes sense is find_fault's business. Throws Error(FAILED_PRECONDITION).
std::vector<PluginDescription> read_module(const quench_module& module);

}  // namespace quench
