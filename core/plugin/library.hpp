// Opens plugin libraries in this process.
#pragma once

#include <filesystem>

#include "quench/abi/module.h"

namespace quench {

// Loads a library (RTLD_NOW, RTLD_LOCAL, never unloaded) and calls its entry; returns the same
// module for the same path. `path`: canonical. Throws Error(FAILED_PRECONDITION) without the path
// in its message: the linker's message, no entry symbol, another library's entry, the program
// itself. Does not examine the module.
const quench_module* open_library(const std::filesystem::path& path);

}  // namespace quench
