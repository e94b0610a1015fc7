// The libraries that a plugin brings, and whether they can share a process with the loaded ones.
// The dynamic linker identifies a library by its soname alone: of two different files with one
// soname it silently replaces the second by the first, and a plugin then runs on a version that it
// was not built for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/plugin/catalog/description.hpp"

namespace quench {

// The shared libraries that this process has loaded, without the program itself.
std::vector<LinkedLibrary> loaded_libraries();

// Of a library that this process has loaded: what it needs by name, and what that needs.
std::vector<LinkedLibrary> needed_libraries(const std::filesystem::path& library);

// The libraries in the dependency closure of `library` that its RUNPATH or RPATH leads to, or those
// of the libraries found so. Leaves out what only the system's search finds.
std::vector<LinkedLibrary> bundled_libraries(const std::filesystem::path& library);

// Why `wanted` cannot be loaded beside `loaded`, or "": names both files. Copies with the same
// build id count as one file.
std::string link_conflict(const std::vector<LinkedLibrary>& wanted,
                          const std::vector<LinkedLibrary>& loaded);

// Once `library` is loaded: which of the libraries that it brings was replaced by another of the
// same soname, or "". LD_LIBRARY_PATH comes before a RUNPATH, and nothing else would tell.
std::string displaced_library(const std::filesystem::path& library,
                              const std::vector<LinkedLibrary>& loaded);

}  // namespace quench
