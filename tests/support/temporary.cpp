#include "tests/support/temporary.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace quench::test {

namespace fs = std::filesystem;

TemporaryDir::TemporaryDir() {
  std::string pattern = (fs::temp_directory_path() / "quench-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("cannot make a folder like " + pattern);
  }
  path_ = pattern;
}

TemporaryDir::~TemporaryDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path TemporaryDir::write(const std::string& name, std::string_view content) const {
  const fs::path path = path_ / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
  return path;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace quench::test
