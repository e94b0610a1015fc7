// Reading the project's own files. Paths are relative to its root and have forward slashes.
#pragma once

#include <string>
#include <vector>

namespace quench::test {

// The folders that the program is made of.
inline constexpr const char* kHostFolders[] = {"core", "train", "report", "run", "cli"};

// Files below `folder` whose names end in one of `suffixes`, sorted; none when there is no folder.
std::vector<std::string> files_below(const std::string& folder,
                                     const std::vector<std::string>& suffixes);

// The same below all of kHostFolders.
std::vector<std::string> host_files(const std::vector<std::string>& suffixes);

// Content of a file of the project.
std::string source(const std::string& path);

struct PluginFolder {
  std::string kind;  // the folder's name: "quantizers"
  std::string id;
  std::string path() const { return "plugins/" + kind + "/" + id; }
};

// What the add_plugin lines of plugins/*/CMakeLists.txt (and of plugins/*/*/CMakeLists.txt) name.
std::vector<PluginFolder> plugin_folders();

// A library of the host, as its folder's add_host_library line has it.
struct HostLibrary {
  std::string folder;  // "core/store"
  std::string name;    // "store"
  std::vector<std::string> links;
};
const std::vector<HostLibrary>& host_libraries();

}  // namespace quench::test
