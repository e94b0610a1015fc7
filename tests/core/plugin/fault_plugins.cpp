#include "tests/core/plugin/fault_plugins.hpp"

#include <catch2/catch.hpp>

#include "tests/support/fixtures.hpp"

namespace quench::test {

namespace fs = std::filesystem;

fs::path quench_executable() {
  return binary_dir() / "bin/quench";
}

fs::path fault_library(const std::string& name) {
  return binary_dir() / "tests/faults" / name;
}

fs::path PluginFolder::add(const std::string& id, const std::string& name) {
  const fs::path to = path() / ((name.empty() ? id : name) + ".so");
  fs::create_directories(to.parent_path());
  fs::copy_file(fault_library(id + ".so"), to, fs::copy_options::overwrite_existing);
  return to;
}

void PluginFolder::add_helper(const std::string& variant, const std::string& library) {
  fs::create_directories(path() / "deps");
  fs::copy_file(fault_library("deps_" + variant + "/" + library), path() / "deps" / library,
                fs::copy_options::overwrite_existing);
}

Catalog PluginFolder::catalog(double seconds) const {
  return Catalog({{path()}, cache(), quench_executable(), seconds});
}

std::string PluginFolder::reason(double seconds) const {
  const Catalog found = catalog(seconds);
  CHECK(found.items().empty());
  REQUIRE(found.rejected().size() == 1);
  return found.rejected()[0].reason;
}

}  // namespace quench::test
