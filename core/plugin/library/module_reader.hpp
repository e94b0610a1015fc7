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

// Item `index` of a module that was read, with a table as long as this host's: of a plugin that was
// written for an earlier minor, the functions that came later are NULL. Lives as long as the
// process.
const quench_item& item_of(const quench_module& module, uint32_t index);

}  // namespace quench
