#include "core/plugin/catalog/catalog.hpp"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <fstream>

#include "core/error.hpp"
#include "core/plugin/catalog/code_identity.hpp"
#include "core/plugin/catalog/search_path.hpp"
#include "tests/core/plugin/fault_plugins.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/temporary.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using quench::Catalog;
using quench::test::PluginFolder;
namespace fs = std::filesystem;

TEST_CASE("catalog: a library is described as it describes itself", "[core][plugin]") {
  PluginFolder folder;
  const fs::path library = folder.add("good", "corpora/good");
  const Catalog catalog = folder.catalog();
  const quench::PluginDescription& item = catalog.require("corpus", "good");
  CHECK(item.version == "1.0.0");
  CHECK(item.summary == "A corpus of two words.");
  CHECK(item.library == library);
  CHECK(item.sha256.size() == 64);
  CHECK(item.module_id == "test.fault");
  REQUIRE(item.parameters.size() == 3);
  CHECK(item.parameters[0].default_value == 4);
  CHECK(item.parameters[1].default_value->is_null());
  CHECK(item.parameters[1].maximum == INFINITY);
  CHECK(item.parameters[2].choices == std::vector<std::string>{"given", "diagonal"});
}

TEST_CASE("catalog: what was probed is probed again only when it changes", "[core][plugin]") {
  PluginFolder folder;
  folder.add("good");
  folder.add("bad_default");
  CHECK(folder.catalog().probe_count() == 2);
  const Catalog again = folder.catalog();
  CHECK(again.probe_count() == 0);
  CHECK(again.items().size() == 1);
  REQUIRE(again.rejected().size() == 1);
  CHECK_THAT(again.rejected()[0].reason, Contains("bits: got 9, wanted 2..8"));

  SECTION("a new time stamp on the same bytes costs a hash, no probe") {
    fs::last_write_time(folder.path() / "good.so", fs::file_time_type::clock::now());
    CHECK(folder.catalog().probe_count() == 0);
  }
  SECTION("other bytes under the same name are probed") {
    folder.add("constructor_prints", "bad_default");
    const Catalog changed = folder.catalog();
    CHECK(changed.probe_count() == 1);
    CHECK(changed.rejected().empty());
  }
  SECTION("a rescan forgets everything") {
    quench::forget_probes(folder.cache());
    CHECK(folder.catalog().probe_count() == 2);
  }
  SECTION("a broken cache is ignored and written again") {
    for (const char* content : {"", "{\"version\":", "[]", "{\"version\": 1}"}) {
      std::ofstream(folder.cache() / "plugins.json") << content;
      CHECK(folder.catalog().probe_count() == 2);
      CHECK(folder.catalog().probe_count() == 0);
    }
  }
}

TEST_CASE("catalog: the first library with an id wins, the other is shadowed", "[core][plugin]") {
  PluginFolder first;
  PluginFolder second;
  const fs::path good = first.add("good");
  const fs::path other = second.add("other");
  const Catalog catalog({{first.path(), second.path(), first.path()},
                         first.cache(),
                         quench::test::quench_executable(),
                         20});
  REQUIRE(catalog.items().size() == 1);
  CHECK(catalog.items()[0].library == good);
  REQUIRE(catalog.shadowed().size() == 1);
  CHECK(catalog.shadowed()[0].item.library == other);
  CHECK(catalog.shadowed()[0].by == good);
}

TEST_CASE("catalog: an unknown id is answered with the nearest and the rejected",
          "[core][plugin]") {
  PluginFolder folder;
  folder.add("good");
  const fs::path bad = folder.add("bad_default");
  const Catalog catalog = folder.catalog();
  CHECK_THROWS_WITH(catalog.require("corpus", "godo"),
                    StartsWith("no corpus is called godo; did you mean good?; looked in "));
  CHECK_THROWS_WITH(catalog.require("corpus", "bad_default"),
                    Contains(bad.string() + " was rejected: corpus bad_default: parameter bits"));
}

TEST_CASE("catalog: folders that others can write to, and relative ones, are refused",
          "[core][plugin]") {
  PluginFolder folder;
  folder.add("good", "corpora/good");
  SECTION("the folder of the search path") {
    fs::permissions(folder.path(), fs::perms::others_write, fs::perm_options::add);
    CHECK_THAT(folder.reason(), StartsWith("the folder is writable by everyone"));
  }
  SECTION("the folder of a kind") {
    fs::permissions(folder.path() / "corpora", fs::perms::others_write, fs::perm_options::add);
    CHECK_THAT(folder.reason(), StartsWith("the folder is writable by everyone"));
  }
  SECTION("a folder above") {
    fs::permissions(folder.path().parent_path(), fs::perms::others_write, fs::perm_options::add);
    CHECK_THAT(folder.reason(),
               StartsWith(folder.path().parent_path().string() + " is writable by everyone"));
  }
  SECTION("the library") {
    fs::permissions(folder.path() / "corpora/good.so", fs::perms::others_write,
                    fs::perm_options::add);
    CHECK_THAT(folder.reason(), StartsWith("the file is writable by everyone"));
  }
  SECTION("a folder or a library of another user or group") {
    quench::test::skip_unless(::geteuid() == 0, "only root can give files away");
    constexpr uid_t kStranger = 54321;
    const fs::path library = folder.path() / "corpora/good.so";
    REQUIRE(::chown(library.c_str(), kStranger, 0) == 0);
    CHECK(folder.reason() == "the file belongs to user 54321");
    REQUIRE(::chown(library.c_str(), 0, kStranger) == 0);
    fs::permissions(library, fs::perms::group_write, fs::perm_options::add);
    CHECK_THAT(folder.reason(), StartsWith("the file is writable by a group (chmod g-w "));
    REQUIRE(::chown(folder.path().c_str(), kStranger, 0) == 0);
    CHECK(folder.reason() == "the folder belongs to user 54321; plugins are not loaded from there");
  }
  SECTION("a relative folder") {
    const auto path = quench::default_search_path({}, "", {"plugins", {}, {}});
    CHECK(path == std::vector<fs::path>{"plugins"});
    const Catalog catalog({path, "", quench::test::quench_executable(), 20});
    REQUIRE(catalog.rejected().size() == 1);
    CHECK_THAT(catalog.rejected()[0].reason, StartsWith("a relative folder"));
  }
}

TEST_CASE("search path: whoever may change the program may add plugins", "[core][plugin]") {
  quench::test::skip_unless(::geteuid() == 0, "only root can give files away");
  const quench::test::TemporaryDir root;
  const fs::path program = root.write("bin/quench", "");
  const fs::path plugins = root.write("plugins/x.so", "").parent_path();
  REQUIRE(::chown(plugins.c_str(), 54321, 54321) == 0);
  const auto fault = [&] {
    return quench::folder_fault(plugins, quench::trusted_with_plugins(program));
  };
  CHECK_THAT(fault(), StartsWith("the folder belongs to user 54321"));
  REQUIRE(::chown(program.c_str(), 54321, 54321) == 0);
  CHECK(fault().empty());
  fs::permissions(plugins, fs::perms::group_write, fs::perm_options::add);
  CHECK_THAT(fault(), StartsWith("the folder is writable by a group"));
  fs::permissions(program, fs::perms::group_write, fs::perm_options::add);
  CHECK(fault().empty());
}

TEST_CASE("search path: the order is command line, environment, user, program", "[core][plugin]") {
  const auto path =
      quench::default_search_path({"/a", "/b"}, "/opt/q/bin/quench", {"/c::/d", {}, "/home/x"});
  CHECK(path == std::vector<fs::path>{"/a", "/b", "/c", "/d", "/home/x/.local/share/quench/plugins",
                                      "/opt/q/lib/quench"});
  CHECK(quench::default_search_path({}, "", {{}, "/data", "/home/x"}) ==
        std::vector<fs::path>{"/data/quench/plugins"});
}

TEST_CASE("catalog: a library replaced between probe and load is refused", "[core][plugin]") {
  PluginFolder folder;
  folder.add("good");
  Catalog catalog = folder.catalog();
  fs::remove(folder.path() / "good.so");
  folder.add("other", "good");
  CHECK_THROWS_WITH(catalog.load(catalog.require("corpus", "good")),
                    Contains("is not the file that was probed"));
}

TEST_CASE("catalog: another library in the place of one that a plugin runs on is seen",
          "[core][plugin]") {
  PluginFolder folder;
  folder.add("needs_helper");
  folder.add_helper("a");
  const auto named = [&](size_t probes) {
    Catalog catalog = folder.catalog();
    CHECK(catalog.probe_count() == probes);
    return quench::computing_libraries(catalog.require("corpus", "needs_helper").links);
  };
  const nlohmann::json before = named(1);
  CHECK(before.size() == 1);
  CHECK(named(0) == before);
  folder.add_helper("b");
  const nlohmann::json after = named(1);
  CHECK(after.size() == 1);
  CHECK(after != before);
}

TEST_CASE("catalog: the host's own libraries that a plugin runs on are its links, too",
          "[core][plugin]") {
  PluginFolder folder;
  folder.add("good");
  const Catalog catalog = folder.catalog();
  const auto& links = catalog.require("corpus", "good").links;
  CHECK(std::any_of(links.begin(), links.end(),
                    [](const auto& link) { return link.soname == "libc.so.6"; }));
}

TEST_CASE(
    "catalog: a copy elsewhere has the same code, and other bytes of one build id have another",
    "[core][plugin]") {
  PluginFolder one;
  PluginFolder copy;
  PluginFolder other;
  one.add("good");
  copy.add("good", "corpora/good");
  std::ofstream(other.add("good"), std::ios::app) << "bytes behind the end";
  const nlohmann::json code = one.catalog().require("corpus", "good").code;
  CHECK(code.at("build_id").get<std::string>().size() == 40);
  CHECK(code.at("sha256") == one.catalog().require("corpus", "good").sha256);
  CHECK(copy.catalog().require("corpus", "good").code == code);
  const nlohmann::json patched = other.catalog().require("corpus", "good").code;
  CHECK(patched.at("build_id") == code.at("build_id"));
  CHECK(patched != code);
  quench::CatalogOptions options{{one.path()}, "", quench::test::quench_executable(), 20};
  options.counts_as = [](const nlohmann::json& given) { return nlohmann::json{{"counts", given}}; };
  CHECK(Catalog(options).require("corpus", "good").code == nlohmann::json{{"counts", code}});
}

TEST_CASE("catalog: what came with the program goes by its build id alone", "[core][plugin]") {
  const fs::path shipped = quench::own_plugins(quench::test::quench_executable());
  quench::test::skip_unless(fs::exists(shipped / "corpora/text.so"), "corpus text is not built");
  const Catalog catalog({{shipped / "corpora"}, "", quench::test::quench_executable(), 20});
  const nlohmann::json code = catalog.require("corpus", "text").code;
  CHECK(code.size() == 1);
  CHECK(code.at("build_id").get<std::string>().size() == 40);
}

namespace {

// Two plugins that need different files under one soname.
struct Clash {
  PluginFolder first;
  PluginFolder second;
  quench::CatalogOptions options;

  Clash() {
    first.add("needs_helper");
    first.add_helper("a");
    second.add("also_needs_helper");
    second.add_helper("b");
    options.search_path = {first.path(), second.path()};
    options.self = quench::test::quench_executable();
    options.probe_seconds = 20;
  }
  std::string helper_of(const PluginFolder& folder) const {
    return (folder.path() / "deps/libfault_helper.so").string();
  }
};

}  // namespace

// Before the test that loads one of them: a process holds it for good.
TEST_CASE("catalog: what did not come with the program runs apart, unless the user keeps it here",
          "[core][plugin]") {
  static const quench_item kServed{};
  Clash clash;
  std::vector<std::string> apart;
  clash.options.load_in_worker = [&](const quench::PluginDescription& item) -> const quench_item& {
    apart.push_back(item.id);
    return kServed;
  };
  Catalog catalog(clash.options);
  const auto& one = catalog.require("corpus", "needs_helper");
  const auto& other = catalog.require("corpus", "also_needs_helper");
  CHECK(catalog.placed(one).placement == quench::Placement::kOwn);
  CHECK(catalog.placed(one).reason == "not part of this installation");
  CHECK(&catalog.load(one) == &kServed);
  CHECK(&catalog.load(other) == &kServed);
  CHECK(apart == std::vector<std::string>{"needs_helper", "also_needs_helper"});
  SECTION("by the command line") {
    catalog.in_process().command_line = {"corpus/needs_helper"};
    CHECK(catalog.placed(one).reason == "`--in-process`");
  }
  SECTION("by a manifest") {
    catalog.in_process().manifest = {"needs_helper"};
    CHECK(catalog.placed(one).reason == "`in_process` of the manifest");
  }
  CHECK(catalog.placed(one).placement ==
        (catalog.in_process().command_line.empty() && catalog.in_process().manifest.empty()
             ? quench::Placement::kOwn
             : quench::Placement::kShared));
  CHECK(catalog.placed(other).placement == quench::Placement::kOwn);
}

TEST_CASE("catalog: a program without other processes refuses a second file under a soname in use",
          "[core][plugin]") {
  const Clash clash;
  Catalog catalog(clash.options);
  REQUIRE(catalog.items().size() == 2);
  const auto& links = catalog.require("corpus", "needs_helper").links;
  CHECK(std::any_of(links.begin(), links.end(),
                    [](const auto& link) { return link.soname == "libfault_helper.so"; }));
  catalog.load(catalog.require("corpus", "needs_helper"));
  CHECK_THROWS_WITH(catalog.load(catalog.require("corpus", "also_needs_helper")),
                    Contains("it needs libfault_helper.so from " + clash.helper_of(clash.second) +
                             ", and this process runs "));
}

TEST_CASE("catalog: --in-process names plugins that are there", "[core][plugin]") {
  PluginFolder folder;
  folder.add("good");
  const Catalog catalog = folder.catalog();
  CHECK(catalog.in_process_fault("good") == "");
  CHECK(catalog.in_process_fault("corpus/good") == "");
  CHECK(catalog.in_process_fault("godo") == "no plugin is called godo; did you mean good?");
}

TEST_CASE("catalog: a second look at 50 libraries is quick", "[core][plugin]") {
  PluginFolder folder;
  for (int i = 0; i < 50; ++i) {
    folder.add("good", "p" + std::to_string(i));
  }
  CHECK(folder.catalog().probe_count() == 50);
  const auto start = std::chrono::steady_clock::now();
  CHECK(folder.catalog().probe_count() == 0);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  CHECK(took.count() < 0.2);  // about 5 ms in a release build
}
