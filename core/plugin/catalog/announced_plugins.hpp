// Plugins that installed Python distributions announce by the entry-point group `quench.plugins`.
#pragma once

#include <filesystem>
#include <vector>

namespace quench {

// The folders of the packages that the distributions of these environments (VIRTUAL_ENV,
// CONDA_PREFIX; "" is none) name, in the order of the distributions' names. Reads their metadata
// alone: nothing is imported, and no interpreter is asked.
std::vector<std::filesystem::path> announced_plugins(
    const std::vector<std::filesystem::path>& environments);

}  // namespace quench
