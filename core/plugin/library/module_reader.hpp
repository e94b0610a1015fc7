// Reads a module's own structures and checks them before use.
#pragma once

#include <vector>

#include "core/plugin/catalog/description.hpp"
#include "quench/abi/module.h"

namespace quench {

// Checks versions, sizes, flags and pointers of a module, its items and tables, and copies the
// content. Fills everything in a description except library, sha256 and links. find_fault decides
// whether the content makes sense. Throws Error(FAILED_PRECONDITION).
std::vector<PluginDescription> read_module(const quench_module& module);

}  // namespace quench
