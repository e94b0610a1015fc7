#include "core/plugin/catalog/installation_list.hpp"

#include <catch2/catch.hpp>
#include <fstream>

#include "core/base/io/file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "tests/core/plugin/fault_plugins.hpp"
#include "tests/support/temporary.hpp"

using Catch::Matchers::Contains;
using quench::Catalog;
namespace fs = std::filesystem;

namespace {

// A program with two plugins of its own, `good` and `constructor_prints`, of which the list has the
// first.
struct Installed {
  quench::test::TemporaryDir root;

  Installed() {
    fs::create_directories(root / "bin");
    fs::create_directories(root / "lib/quench/corpora");
    fs::create_symlink(quench::test::quench_executable(), root / "bin/quench");
    for (const char* id : {"good", "constructor_prints"}) {
      fs::copy_file(quench::test::fault_library(std::string(id) + ".so"), library(id));
    }
    root.write("lib/quench/SHA256SUMS",
               sha256_of(quench::File(library("good"))) + "  corpora/good.so\n");
  }
  fs::path library(const std::string& id) const {
    return root / "lib/quench/corpora" / (id + ".so");
  }
  Catalog catalog() const {
    quench::CatalogOptions options{{root / "lib/quench"}, root / "cache", root / "bin/quench", 20};
    options.load_in_worker = [](const quench::PluginDescription&) -> const quench_item& {
      throw std::logic_error("nothing is loaded here");
    };
    return Catalog(options);
  }
};

}  // namespace

TEST_CASE("installation list: what it has came with the program, what else lies there did not",
          "[core][plugin]") {
  const Installed program;
  const Catalog catalog = program.catalog();
  const quench::PluginDescription& good = catalog.require("corpus", "good");
  CHECK(catalog.is_shipped(good));
  CHECK(catalog.placed(good).placement == quench::Placement::kShared);
  CHECK(good.code.size() == 1);  // its build id
  const quench::PluginDescription& other = catalog.require("corpus", "constructor_prints");
  CHECK_FALSE(catalog.is_shipped(other));
  CHECK(catalog.placed(other).placement == quench::Placement::kOwn);
  CHECK(other.code.contains("sha256"));
}

TEST_CASE("installation list: a plugin of other bytes is refused, known before or not",
          "[core][plugin]") {
  const Installed program;
  if (GENERATE(true, false)) {
    CHECK(program.catalog().find("corpus", "good") != nullptr);  // the cache has it now
  }
  std::ofstream(program.library("good"), std::ios::app) << "bytes behind the end";
  for (int twice = 0; twice < 2; ++twice) {
    const Catalog catalog = program.catalog();
    CHECK(catalog.find("corpus", "constructor_prints") != nullptr);
    REQUIRE(catalog.rejected().size() == 1);
    CHECK_THAT(catalog.rejected().front().reason,
               Contains("is not the file that was installed (sha256 ") && Contains("SHA256SUMS"));
    CHECK_THROWS_WITH(catalog.require("corpus", "good"),
                      Contains("good.so was rejected: is not the file that was installed"));
  }
}

TEST_CASE("installation list: code for GPUs is held to it before it computes", "[core][plugin]") {
  const std::string name = GENERATE("kernels.so", "graphs.so");
  const Installed program;
  const fs::path kernels = program.root / "lib/quench/cuda" / name;
  const fs::path list = program.root / "lib/quench/SHA256SUMS";
  const auto compute_on = [&](int32_t type) {
    program.catalog().compute_on({type, 0}, QUENCH_FAKE_DRIVER);
  };
  CHECK_NOTHROW(compute_on(QUENCH_DEVICE_CUDA));  // there are none
  fs::create_directories(kernels.parent_path());
  fs::copy_file(quench::test::fault_library("good.so"), kernels);
  CHECK_THROWS_WITH(compute_on(QUENCH_DEVICE_CUDA),
                    Contains("cuda/" + name + ": is no part of this installation"));
  std::ofstream(list, std::ios::app)
      << sha256_of(quench::File(kernels)) << "  cuda/" << name << "\n";
  CHECK_NOTHROW(compute_on(QUENCH_DEVICE_CUDA));
  fs::remove(kernels);
  fs::copy_file(quench::test::fault_library("constructor_prints.so"), kernels);
  CHECK_THROWS_WITH(compute_on(QUENCH_DEVICE_CUDA),
                    Contains("cuda/" + name + ": is not the file that was installed (sha256 "));
  CHECK_NOTHROW(compute_on(QUENCH_DEVICE_CPU));
}

TEST_CASE("installation list: none of its plugins is used where it cannot be read",
          "[core][plugin]") {
  const Installed program;
  program.root.write("lib/quench/SHA256SUMS", "corpora/good.so\n");
  const Catalog catalog = program.catalog();
  CHECK(catalog.items().empty());
  REQUIRE(catalog.rejected().size() == 2);
  CHECK_THAT(catalog.rejected().front().reason,
             Contains("SHA256SUMS: got the line 'corpora/good.so', wanted a SHA-256"));
}

TEST_CASE("installation list: without one all that lies in the folder came with the program",
          "[core][plugin]") {
  const Installed program;
  fs::remove(program.root / "lib/quench/SHA256SUMS");
  const Catalog catalog = program.catalog();
  CHECK(catalog.is_shipped(catalog.require("corpus", "constructor_prints")));
}
