// Apart from fixtures.cpp, whose skip() is a test binary's: other programs ask for these folders
// too.
#include <cstdlib>

#include "tests/support/fixtures.hpp"

namespace quench::test {

// Both may be elsewhere: a machine with a GPU gets test programs and their data, but no build.
std::filesystem::path source_dir() {
  const char* other = std::getenv("QUENCH_TEST_SOURCE");
  return other != nullptr ? std::filesystem::path(other) : QUENCH_SOURCE_DIR;
}

std::filesystem::path binary_dir() {
  const char* other = std::getenv("QUENCH_TEST_TREE");
  return other != nullptr ? std::filesystem::path(other) : QUENCH_BINARY_DIR;
}

std::filesystem::path fixtures_root() {
  const char* set = std::getenv("QUENCH_FIXTURES");
  return set != nullptr ? std::filesystem::path(set) : source_dir() / "../shared/fixtures";
}

std::filesystem::path public_data_root() {
  return fixtures_root().parent_path() / "data";
}

std::filesystem::path study_config_root() {
  return fixtures_root().parent_path() / "study/config";
}

}  // namespace quench::test
