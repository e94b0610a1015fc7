#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "core/plugin/library/elf_file.hpp"
#include "tests/layering/elf.hpp"
#include "tests/layering/source_tree.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace {

std::vector<std::string> built_plugins() {
  std::istringstream lines(quench::test::read_file(QUENCH_PLUGIN_LIST));
  std::vector<std::string> paths;
  for (std::string line; std::getline(lines, line);) {
    paths.push_back(line);
  }
  return paths;
}

}  // namespace

TEST_CASE("layering: every plugin exports its entry and nothing else", "[layering]") {
  const auto plugins = built_plugins();
  CHECK(plugins.size() >= 7);  // the templates alone
  for (const std::string& path : plugins) {
    CAPTURE(path);
    const auto symbols = quench::test::exported_symbols(path);
    std::string names;
    for (const auto& symbol : symbols) {
      names += symbol.name + (symbol.unique ? " (unique) " : " ");
    }
    CHECK(names == "quench_module_v1 ");
  }
}

// A path in a binary would be in its build id, and so in the keys of what it computes.
TEST_CASE("layering: no plugin holds a path of this machine", "[layering]") {
  const std::string source = quench::test::source_dir().string() + "/";
  for (const std::string& path : built_plugins()) {
    CAPTURE(path);
    CHECK(quench::test::read_file(path).find(source) == std::string::npos);
    for (const std::string& folder : quench::read_elf(path).runpath) {
      CAPTURE(folder);
      CHECK(folder.starts_with("$ORIGIN/"));
    }
  }
}

TEST_CASE("layering: every plugin of the tree is a target", "[layering]") {
  for (const auto& plugin : quench::test::plugin_folders()) {
    const std::string file = "/" + plugin.kind + "/" + plugin.id + ".so";
    CAPTURE(file);
    const auto paths = built_plugins();
    CHECK(std::any_of(paths.begin(), paths.end(),
                      [&](const std::string& path) { return path.ends_with(file); }));
  }
}

TEST_CASE("layering: the symbol reader sees many symbols in a library that has many",
          "[layering]") {
  // libstdc++ is what this test runs on; its path is in the process's map of memory.
  std::istringstream map(quench::test::read_file("/proc/self/maps"));
  std::string library;
  for (std::string line; std::getline(map, line) && library.empty();) {
    if (line.find("libstdc++.so") != std::string::npos) {
      library = line.substr(line.find('/'));
    }
  }
  REQUIRE_FALSE(library.empty());
  const auto symbols = quench::test::exported_symbols(library);
  CHECK(symbols.size() > 1000);
  CHECK(std::any_of(symbols.begin(), symbols.end(), [](const auto& s) { return s.unique; }));
}
