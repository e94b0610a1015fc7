// Where plugins are looked for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/io/trust.hpp"

namespace quench {

// What the search path takes from the environment. main fills it by secure_getenv, so that a
// program that runs with more rights than its caller takes nothing from there.
struct PluginEnvironment {
  std::optional<std::string> plugin_path;    // QUENCH_PLUGIN_PATH: folders, ':' between them
  std::optional<std::string> system_path;    // QUENCH_PLUGIN_SYSTEM_PATH: likewise; "" for none
  std::optional<std::string> xdg_data_home;  // XDG_DATA_HOME
  std::optional<std::string> home;           // HOME
};

// Where the plugins lie that come with this program: <folder of the executable>/../lib/quench.
// Empty where the executable is not known.
std::filesystem::path own_plugins(const std::filesystem::path& executable);

// In order: the command line's (relative ones against the working directory), QUENCH_PLUGIN_PATH,
// $XDG_DATA_HOME/quench/plugins, own_plugins(), the system's folders.
// Relative entries of the environment stay relative: the catalog refuses them and says so.
std::vector<std::filesystem::path> default_search_path(
    const std::vector<std::filesystem::path>& command_line, const std::filesystem::path& executable,
    const PluginEnvironment& environment);

// Whose code is loaded: this user's, and that of whoever may write to the program itself.
Trusted trusted_with_plugins(const std::filesystem::path& executable);

// Why nothing is loaded from `folder`, or "": relative, not a folder, of another user, or others
// may write there or put another one in its place. A folder that is not there is no fault.
std::string folder_fault(const std::filesystem::path& folder, const Trusted& trusted);

// The libraries in a folder of the search path: *.so in it and in its folders named after kinds,
// sorted by name.
std::vector<std::filesystem::path> libraries_in(const std::filesystem::path& folder);

}  // namespace quench
