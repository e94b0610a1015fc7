// What a plugin's description rules out is not asked of its code: the library is not loaded.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/inputs/weights/open_checkpoint_folder.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/catalog/choose.hpp"
#include "core/plugin/catalog/show.hpp"
#include "core/plugin/handles/model_handle.hpp"
#include "core/plugin/library/links.hpp"
#include "quench/abi/kind/format.h"
#include "tests/core/plugin/fault_plugins.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::Catalog;
using quench::PluginDescription;
using quench::test::message_of;
using quench::test::TemporaryDir;
namespace fs = std::filesystem;

namespace {

// A program and the plugins that came with it.
struct Installed {
  TemporaryDir root;

  Installed() {
    fs::create_directories(root / "bin");
    fs::create_directories(plugins());
    fs::create_symlink(quench::test::quench_executable(), root / "bin/quench");
  }
  ~Installed() { quench::shutdown_plugins(); }

  fs::path plugins() const { return root / "lib/quench"; }
  void add(const std::string& id) {
    fs::copy_file(quench::test::fault_library(id + ".so"), plugins() / (id + ".so"));
  }
  Catalog catalog() const { return Catalog({{plugins()}, "", root / "bin/quench", 20}); }
};

bool is_loaded(const PluginDescription& plugin) {
  const std::vector<quench::LinkedLibrary> loaded = quench::loaded_libraries();
  return std::any_of(loaded.begin(), loaded.end(),
                     [&](const auto& one) { return one.path == plugin.library; });
}

}  // namespace

TEST_CASE("declared: only formats that list are asked for the checkpoints of a folder",
          "[core][plugin]") {
  Installed program;
  program.add("unlisting_format");
  const TemporaryDir place;
  place.write("some.weights", "");
  {
    Catalog catalog = program.catalog();
    const PluginDescription& reads = catalog.require("format", "unlisting_format");
    REQUIRE(catalog.is_shipped(reads));
    REQUIRE(reads.instance);
    CHECK(reads.instance->needs == QUENCH_FORMAT_READS);
    CHECK(placed_checkpoints(catalog, place.path()).empty());
    CHECK_FALSE(is_loaded(reads));
  }
  program.add("lying_format");
  Catalog catalog = program.catalog();
  const PluginDescription& lists = catalog.require("format", "lying_format");
  REQUIRE(lists.instance);
  CHECK(lists.instance->needs == (QUENCH_FORMAT_READS | QUENCH_FORMAT_LISTS));
  CHECK_THAT(message_of([&] { placed_checkpoints(catalog, place.path()); }),
             Catch::StartsWith("format lying_format: "));
  CHECK(is_loaded(lists));
  CHECK_FALSE(is_loaded(catalog.require("format", "unlisting_format")));
}

TEST_CASE("declared: a family of other model types is not loaded where one fits",
          "[core][plugin]") {
  Installed program;
  program.add("family_one");
  program.add("family_two");
  Catalog catalog = program.catalog();
  const PluginDescription& one = catalog.require("model", "one");
  const PluginDescription& two = catalog.require("model", "two");
  CHECK(two.model_types == std::vector<std::string>{"two", "two_hf"});
  CHECK(&choose_family(catalog, R"({"model_type": "two"})", "config.json") == &two);
  CHECK(&choose_family(catalog, R"({"model_type": "two_hf"})", "config.json") == &two);
  CHECK(is_loaded(two));
  CHECK_FALSE(is_loaded(one));
  CHECK_THAT(
      message_of([&] { choose_family(catalog, R"({"model_type": "third"})", "config.json"); }),
      Catch::Contains("no model family fits model_type \"third\"") &&
          Catch::Contains("there are one, two"));
  CHECK(is_loaded(one));  // all are asked for the message
}

TEST_CASE("declared: plugins show says what a family fits and what a format does",
          "[core][plugin]") {
  Installed program;
  program.add("family_one");
  program.add("lying_format");
  const Catalog catalog = program.catalog();
  CHECK_THAT(quench::plugin_show(catalog, "one"), Catch::Contains("\nfits       one, one_hf\n"));
  CHECK_THAT(quench::plugin_show(catalog, "lying_format"),
             Catch::Contains("\ndoes       reads, lists\n"));
  CHECK(quench::plugin_show_json(catalog, "one")["plugins"][0]["model_types"] ==
        nlohmann::json{"one", "one_hf"});
  CHECK(quench::plugin_show_json(catalog, "lying_format")["plugins"][0]["does"] ==
        nlohmann::json{"reads", "lists"});
}
