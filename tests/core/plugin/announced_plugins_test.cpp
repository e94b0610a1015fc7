// Which folders installed Python distributions announce.
#include "core/plugin/catalog/announced_plugins.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using quench::announced_plugins;
using quench::test::TemporaryDir;

TEST_CASE("announced plugins: the packages of the entry-point group, by metadata alone",
          "[core][plugin]") {
  TemporaryDir environment;
  const fs::path packages = environment.path() / "lib/python3.11/site-packages";
  const auto distribution = [&](const std::string& name, const std::string& entries) {
    fs::create_directories(packages / (name + "-1.0.dist-info"));
    environment.write("lib/python3.11/site-packages/" + name + "-1.0.dist-info/entry_points.txt",
                      entries);
  };
  distribution("a", "[console_scripts]\nrun = a.main:run\n\n[quench.plugins]\nfirst = a.plugins\n");
  distribution("b",
               "[quench.plugins]\r\none = b_methods:anything\r\ntwo=a.plugins\n[other]\nx = y\n");
  distribution("broken", "[quench.plugins]\nup = ..etc\nroot = /etc\nempty =\n");
  fs::create_directories(packages / "silent-1.0.dist-info");
  CHECK(announced_plugins({"", environment.path(), "relative"}) ==
        std::vector<fs::path>{packages / "a/plugins", packages / "b_methods"});
  CHECK(announced_plugins({"/no/such"}).empty());
}
