#include "core/plugin/catalog/announced_plugins.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <system_error>

#include "core/parse_text.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostEntryPointBytes = size_t{1} << 20;

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

constexpr const char* kBlanks = " \t\r";

// "my_package.plugins" is the folder my_package/plugins; an attribute behind ':' says nothing here.
fs::path package_folder(std::string name) {
  name.resize(std::min(name.find(':'), name.size()));
  name = std::string(trimmed(name, kBlanks));
  constexpr const char* kOfNames =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  if (name.empty() || name.find_first_not_of(kOfNames) != std::string::npos ||
      name.starts_with('.') || name.find("..") != std::string::npos) {
    return {};
  }
  std::replace(name.begin(), name.end(), '.', '/');
  return name;
}

// Of the section [quench.plugins] of an entry_points.txt: the packages behind the names.
std::vector<fs::path> packages_of(const fs::path& file) {
  std::vector<fs::path> found;
  std::error_code error;
  if (fs::file_size(file, error) > kMostEntryPointBytes || error) {
    return found;
  }
  std::ifstream in(file);
  bool ours = false;
  for (std::string line; std::getline(in, line);) {
    line = std::string(trimmed(line, kBlanks));
    if (line.starts_with('[')) {
      ours = line == "[quench.plugins]";
    } else if (const size_t equals = line.find('='); ours && equals != std::string::npos) {
      found.push_back(package_folder(line.substr(equals + 1)));
    }
  }
  return found;
}

}  // namespace

std::vector<fs::path> announced_plugins(const std::vector<fs::path>& environments) {
  std::vector<fs::path> folders;
  for (const fs::path& environment : environments) {
    if (!environment.is_absolute()) {
      continue;
    }
    for (const fs::path& python : folders_in(environment / "lib")) {
      if (!python.filename().string().starts_with("python3")) {
        continue;
      }
      const fs::path packages = python / "site-packages";
      for (const fs::path& distribution : folders_in(packages)) {
        if (distribution.extension() != ".dist-info") {
          continue;
        }
        for (const fs::path& package : packages_of(distribution / "entry_points.txt")) {
          const fs::path folder = packages / package;
          if (!package.empty() && std::ranges::find(folders, folder) == folders.end()) {
            folders.push_back(folder);
          }
        }
      }
    }
  }
  return folders;
}

}  // namespace quench
