// The folders that are searched for plugins.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/io/trust.hpp"

namespace quench {

// The environment variables that the search path uses. main reads them with secure_getenv, so that
// a program with more rights than its caller ignores them.
struct PluginEnvironment {
  std::optional<std::string> plugin_path;    // QUENCH_PLUGIN_PATH: folders, separated by ':'
  std::optional<std::string> xdg_data_home;  // XDG_DATA_HOME
  std::optional<std::string> home;           // HOME
};

// The folder of the plugins that come with this program: <folder of the executable>/../lib/quench.
// Empty if the executable is unknown.
std::filesystem::path own_plugins(const std::filesystem::path& executable);

// The folder of this user's plugins: $XDG_DATA_HOME/quench/plugins, else that of HOME; "" without.
std::filesystem::path user_plugins(const PluginEnvironment& environment);

// In order: the command line's folders (relative to the working directory), QUENCH_PLUGIN_PATH,
// user_plugins(), own_plugins(). Relative entries of the
// environment stay relative: the catalog refuses and reports them.
std::vector<std::filesystem::path> default_search_path(
    const std::vector<std::filesystem::path>& command_line, const std::filesystem::path& executable,
    const PluginEnvironment& environment);

// The users whose code is loaded: this user, and those who may write to the program itself.
Trusted trusted_with_plugins(const std::filesystem::path& executable);

// Why nothing is loaded from `folder`, or "": relative, not a folder, owned by another user, or
// others may write to it or replace it. A missing folder is not a fault.
std::string folder_fault(const std::filesystem::path& folder, const Trusted& trusted);

// Gets a library or folder that plugins may not, or cannot, be loaded from.
using RefusePath = std::function<void(const std::filesystem::path& path, const std::string& why)>;

// The libraries in a folder of the search path: *.so, and *.py that do not begin with "_" or ".",
// in it and in its subfolders named after kinds, sorted by name. A folder that is there and cannot
// be listed goes to `refuse`.
std::vector<std::filesystem::path> libraries_in(const std::filesystem::path& folder,
                                                const RefusePath& refuse = {});

// The libraries on a search path that may be loaded at all: canonical, in order of precedence, none
// twice. Why another one, or a folder, may not be loaded from goes to `refuse`.
std::vector<std::filesystem::path> find_libraries(
    const std::vector<std::filesystem::path>& search_path, const Trusted& trusted,
    const RefusePath& refuse);

}  // namespace quench
