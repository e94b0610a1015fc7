// This installation's libtorch, for plugins that were built against one and bring none.
#pragma once

#include <filesystem>
#include <vector>

namespace quench {

// What the linker is to have loaded, under their sonames, before it loads this library: nothing
// where the library needs no libtorch, brings its own, or does not say by a note (that of
// sdk/cmake/quench-plugin.cmake) which version it was built against. Throws
// Error(FAILED_PRECONDITION) with both versions where major or minor are not this installation's.
std::vector<std::filesystem::path> provided_torch(const std::filesystem::path& library);

// The folders where these, their version and all that they bring lie: what a process that is
// confined must read to load the library.
std::vector<std::filesystem::path> provided_folders(const std::filesystem::path& library);

}  // namespace quench
