// Apart from fixtures.cpp, whose skip() is a test binary's: other programs ask for these folders
// too.
#include "tests/support/fixtures.hpp"

namespace quench::test {

std::filesystem::path source_dir() {
  return QUENCH_SOURCE_DIR;
}

std::filesystem::path binary_dir() {
  return QUENCH_BINARY_DIR;
}

}  // namespace quench::test
