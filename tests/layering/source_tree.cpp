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

}  // namespace quench::test
