#include "core/plugin/catalog/find_program.hpp"

#include <unistd.h>

#include <system_error>

namespace quench {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

fs::path find_program(const std::string& name, std::string_view path) {
  while (!path.empty()) {
    const size_t colon = path.find(':');
    const fs::path folder(path.substr(0, colon));
    if (folder.is_absolute() && is_program(folder / name)) {
      return folder / name;
    }
    path = colon == std::string_view::npos ? "" : path.substr(colon + 1);
  }
  return {};
}

}  // namespace quench
