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

// Those of `loaded` that `library` needs by name, and what they need.
std::vector<LinkedLibrary> needed_libraries(const std::filesystem::path& library,
                                            const std::vector<LinkedLibrary>& loaded);

// The libraries in the dependency closure of `library` that its RUNPATH or RPATH (or those of the
// libraries it so finds) lead to. What only the system's search finds is left out.
std::vector<LinkedLibrary> bundled_libraries(const std::filesystem::path& library);

// Why `wanted` cannot be loaded beside `loaded`, or "": names both files. Copies with the same
// build id are one file in this respect.
std::string link_conflict(const std::vector<LinkedLibrary>& wanted,
                          const std::vector<LinkedLibrary>& loaded);

// Why these two plugins cannot run in one process, or "": names both files.
std::string companion_conflict(const PluginDescription& one, const PluginDescription& other);

// The same for any two of `used`, which are all that a run loads beside a model family, and for
// `families`, of which one must go with all of them. One line each; the families are told of only
// where there is none that does.
std::vector<std::string> companion_conflicts(const std::vector<const PluginDescription*>& used,
                                             const std::vector<const PluginDescription*>& families);

}  // namespace quench
