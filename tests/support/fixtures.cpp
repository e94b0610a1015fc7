#include "tests/support/fixtures.hpp"

#include <cstdlib>
#include <stdexcept>

#include "tests/support/skip.hpp"

namespace quench::test {

namespace fs = std::filesystem;

namespace {

fs::path find(const fs::path& root, const std::string& relative) {
  const fs::path path = root / relative;
  if (fs::exists(path)) {
    return path;
  }
  if (std::getenv("QUENCH_FIXTURES_REQUIRED") != nullptr) {
    throw std::runtime_error(path.string() + " is not there, and QUENCH_FIXTURES_REQUIRED is set");
  }
  skip((fs::exists(root) ? path : root).string() +
       " is not there (QUENCH_FIXTURES names the folder of fixtures)");
}

}  // namespace

fs::path fixture(const std::string& relative) {
  return find(fixtures_root(), relative);
}

fs::path public_data(const std::string& relative) {
  return find(public_data_root(), relative);
}

fs::path study_config(const std::string& relative) {
  return find(study_config_root(), relative);
}

}  // namespace quench::test
