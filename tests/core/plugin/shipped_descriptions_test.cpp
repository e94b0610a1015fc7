#include "core/plugin/catalog/shipped_descriptions.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "core/base/process/child_process.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "tests/core/plugin/fault_plugins.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/temporary.hpp"

using quench::Catalog;
using quench::PluginDescription;
using quench::test::quench_executable;
namespace fs = std::filesystem;

namespace {

const fs::path& shipped() {
  static const fs::path folder = quench::test::binary_dir() / "lib/quench";
  quench::test::skip_unless(fs::exists(folder / "descriptions.json"),
                            "the list of the plugins' descriptions is not built");
  return folder;
}

nlohmann::json described(const PluginDescription& item) {
  nlohmann::json out = quench::items_to_json({item});
  for (const quench::LinkedLibrary& link : item.links) {
    out["links"].push_back({link.soname, link.path.string(), link.build_id});
  }
  std::sort(out["links"].begin(), out["links"].end());
  return out;
}

// A program whose one plugin is the corpus text, with the list of this build, changed.
class Installation {
 public:
  explicit Installation(const std::string& from = "", const std::string& to = "") {
    fs::create_directories(folder_ / "bin");
    fs::create_directories(folder_ / "lib/quench/corpora");
    fs::create_symlink(quench_executable(), folder_ / "bin/quench");
    fs::copy_file(shipped() / "corpora/text.so", folder_ / "lib/quench/corpora/text.so");
    std::string list = quench::test::read_file(shipped() / "descriptions.json");
    for (size_t at; !from.empty() && (at = list.find(from)) != std::string::npos;) {
      list.replace(at, from.size(), to);
    }
    folder_.write("lib/quench/descriptions.json", list);
  }
  Catalog catalog() const {
    return Catalog({{folder_ / "lib/quench"}, "", folder_ / "bin/quench", 60});
  }

 private:
  quench::test::TemporaryDir folder_;
};

}  // namespace

TEST_CASE("shipped descriptions: the list says of a plugin what the plugin says when it is asked",
          "[core][plugin]") {
  for (const char* kind : {"quantizers", "corpora"}) {
    const Catalog catalog({{shipped() / kind}, "", quench_executable(), 60});
    CHECK(catalog.probe_count() == 0);
    REQUIRE(catalog.items().size() > 1);
    for (size_t i = 0; i < 2; ++i) {
      const PluginDescription& listed = catalog.items()[i];
      INFO(listed.library.string());
      const quench::ProbeResult asked =
          quench::probe_libraries({listed.library}, catalog.options()).front();
      REQUIRE(asked.rejected == "");
      CHECK(described(listed) == described(asked.items.front()));
    }
  }
}

TEST_CASE("shipped descriptions: what one plugin changes when it is loaded is not laid to the next",
          "[core][plugin]") {
  quench::test::PluginFolder folder;
  folder.add("constructor_locale", "a");
  folder.add("good", "b");
  quench::ChildProcess writer = quench::ChildProcess::start_copy([&] {
    quench::write_shipped_descriptions(folder.path());
    return 0;
  });
  REQUIRE(writer.wait().code() == 0);
  const auto list =
      nlohmann::json::parse(quench::test::read_file(folder.path() / "descriptions.json"));
  REQUIRE(list.at("libraries").size() == 1);
  CHECK_THAT(list.at("libraries").begin()->at("items").dump(), Catch::Contains("good"));
}

TEST_CASE("shipped descriptions: a plugin whose build the list has not is asked",
          "[core][plugin]") {
  CHECK(Installation().catalog().probe_count() == 0);
  const Catalog listed = Installation().catalog();
  const std::string build = listed.require("corpus", "text").code.at("build_id");
  const Installation other(build, std::string(build.size(), '0'));
  const Catalog asked = other.catalog();
  CHECK(asked.probe_count() == 1);
  CHECK(asked.require("corpus", "text").code.at("build_id") == build);
  const Catalog older = Installation("quench 0", "quench old ").catalog();
  CHECK(older.probe_count() == 1);
  CHECK(older.find("corpus", "text") != nullptr);
}

TEST_CASE("shipped descriptions: a plugin one of whose libraries is not found is asked",
          "[core][plugin]") {
  const Catalog asked = Installation("libc.so.6\"", "libc.so.0\"").catalog();
  CHECK(asked.probe_count() == 1);
}
