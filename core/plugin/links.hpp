// Which libraries a plugin brings with it, and whether they can live beside those that are loaded.
// The dynamic linker knows a library by its soname alone: of two different files with one soname
// the second is silently replaced by the first, and a plugin then runs on a version it was not
// built for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/plugin/description.hpp"

namespace quench {

// The shared libraries that this process has loaded, the program itself left out.
std::vector<LinkedLibrary> loaded_libraries();

// The libraries in the dependency closure of `library` that its RUNPATH or RPATH (or those of the
// libraries it so finds) lead to. What only the system's search finds is left out.
std::vector<LinkedLibrary> bundled_libraries(const std::filesystem::path& library);

// Why `wanted` cannot be loaded beside `loaded`, or "": names both files. Copies with the same
// build id are one file in this respect.
std::string link_conflict(const std::vector<LinkedLibrary>& wanted,
                          const std::vector<LinkedLibrary>& loaded);

}  // namespace quench
