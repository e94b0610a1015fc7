// Plugin libraries in this process.
#pragma once

#include <filesystem>

#include "quench/abi/module.h"

namespace quench {

// Loads a library (RTLD_NOW | RTLD_LOCAL, never unloaded) and calls its entry; a second time for
// the same path returns the same module. `path`: canonical. Throws Error(FAILED_PRECONDITION),
// without the path in its message: what the dynamic linker says, no entry symbol, an entry that is
// another library's, the program itself. Nothing in the module has been looked at.
const quench_module* open_library(const std::filesystem::path& path);

}  // namespace quench
