#include "tests/support/fixtures.hpp"

#include <cstdio>
#include <cstdlib>

namespace quench::test {

namespace fs = std::filesystem;

namespace {

std::optional<fs::path> find(const fs::path& root, const std::string& relative) {
  const fs::path path = root / relative;
  if (fs::exists(path)) {
    return path;
  }
  std::fprintf(stderr, "SKIPPED: %s is not there (QUENCH_FIXTURES names the folder)\n",
               path.c_str());
  return std::nullopt;
}

fs::path fixtures_root() {
  const char* set = std::getenv("QUENCH_FIXTURES");
  return set != nullptr ? fs::path(set) : source_dir() / "../shared/fixtures";
}

}  // namespace

std::optional<fs::path> fixture(const std::string& relative) {
  return find(fixtures_root(), relative);
}

std::optional<fs::path> public_data(const std::string& relative) {
  return find(fixtures_root().parent_path() / "data", relative);
}

fs::path source_dir() {
  return QUENCH_SOURCE_DIR;
}
fs::path binary_dir() {
  return QUENCH_BINARY_DIR;
}

}  // namespace quench::test
