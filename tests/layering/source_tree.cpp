#include "tests/layering/source_tree.hpp"

#include <algorithm>
#include <filesystem>
#include <regex>

#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace fs = std::filesystem;

std::vector<std::string> files_below(const std::string& folder,
                                     const std::vector<std::string>& suffixes) {
  std::vector<std::string> found;
  const fs::path top = source_dir() / folder;
  if (fs::is_directory(top)) {
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      const std::string path = entry.path().lexically_relative(source_dir()).generic_string();
      const bool wanted = std::any_of(suffixes.begin(), suffixes.end(),
                                      [&](const auto& suffix) { return path.ends_with(suffix); });
      if (entry.is_regular_file() && wanted) {
        found.push_back(path);
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> host_files(const std::vector<std::string>& suffixes) {
  std::vector<std::string> found;
  for (const char* folder : kHostFolders) {
    for (std::string& file : files_below(folder, suffixes)) {
      found.push_back(std::move(file));
    }
  }
  return found;
}

std::string source(const std::string& path) {
  return read_file(source_dir() / path);
}

std::vector<PluginFolder> plugin_folders() {
  static const std::regex line(R"(add_plugin\(\s*(\w+)\s+([\w-]+))");
  std::vector<PluginFolder> folders;
  for (const std::string& path : files_below("plugins", {"CMakeLists.txt"})) {
    const std::string text = source(path);
    for (auto it = std::sregex_iterator(text.begin(), text.end(), line);
         it != std::sregex_iterator(); ++it) {
      folders.push_back({(*it)[1], (*it)[2]});
    }
  }
  return folders;
}

const std::vector<HostLibrary>& host_libraries() {
  static const std::vector<HostLibrary> libraries = [] {
    static const std::regex call(R"(add_host_library\(\s*(\w+)([^)]*)\))");
    static const std::regex links(R"(\sLINK((?:\s+[a-z_]+)+))");
    static const std::regex word(R"([a-z_]+)");
    std::vector<HostLibrary> found;
    for (const std::string& path : host_files({"CMakeLists.txt"})) {
      const std::string text = source(path);
      std::smatch match;
      if (!std::regex_search(text, match, call)) {
        continue;
      }
      HostLibrary library{fs::path(path).parent_path().generic_string(), match[1], {}};
      const std::string arguments = match[2];
      if (std::regex_search(arguments, match, links)) {
        const std::string names = match[1];
        for (auto it = std::sregex_iterator(names.begin(), names.end(), word);
             it != std::sregex_iterator(); ++it) {
          library.links.push_back(it->str());
        }
      }
      found.push_back(std::move(library));
    }
    return found;
  }();
  return libraries;
}

}  // namespace quench::test
