#include "tests/cli/copied_plugins.hpp"

#include <filesystem>

#include "tests/support/fixtures.hpp"

namespace quench::test {

namespace fs = std::filesystem;

std::set<std::string> copy_plugins(const Workplace& here, const std::set<std::string>& ids) {
  const fs::path built = binary_dir() / "lib/quench";
  const fs::path copies = here.folder() / "plugins";
  std::set<std::string> out;
  for (const auto& kind : fs::directory_iterator(built)) {
    const std::string name = kind.path().filename();
    if (kind.is_symlink()) {
      fs::create_directories(copies);
      fs::create_directory_symlink(fs::read_symlink(kind.path()), copies / name);
    }
    if (kind.is_symlink() || !kind.is_directory() || name == "host" || name == "cuda") {
      continue;  // libraries of the program's own
    }
    for (const auto& library : fs::directory_iterator(kind.path())) {
      const std::string id = library.path().stem();
      if (library.path().extension() == ".so" && (ids.empty() || ids.contains(id))) {
        fs::create_directories(copies / name);
        fs::copy_file(library.path(), copies / name / library.path().filename());
        out.insert(id);
      }
    }
  }
  return out;
}

}  // namespace quench::test
