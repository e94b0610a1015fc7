// What a faulty library does in the child that probes it, and what the parent says of it.
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <utility>

#include "core/error.hpp"
#include "tests/core/plugin/fault_plugins.hpp"
#include "tests/support/throws.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using quench::test::code_of;
using quench::test::message_of;
using quench::test::PluginFolder;

TEST_CASE("probing: a faulty library is rejected with its reason", "[core][plugin]") {
  const std::pair<const char*, const char*> cases[] = {
      {"no_symbol", "has no symbol quench_module_v1"},
      {"wrong_major",
       "built for plugin ABI 99.0, this quench has 1.1: build it against this version's SDK"},
      {"later_host", "needs a host of plugin ABI 1.98, this quench has 1.1: take a later quench"},
      {"needs_beyond", "built for plugin ABI 1.1, and needs at least 1.2"},
      {"short_struct", "quench_module has struct_size 24, wanted at least 72"},
      {"unknown_flags", "item 0 has flags 0x4, of which this host knows none"},
      {"unknown_kind",
       "teapot unknown_kind: unknown kind \"teapot\", wanted one of model, quantizer, "
       "transform, averaging, metric, corpus, tokenizer, optimizer, format"},
      {"bad_id", "corpus Bad Id: bad id \"Bad Id\", wanted [a-z][a-z0-9_-]{0,63}"},
      {"null_slot", "corpus null_slot: function next of its table is NULL"},
      {"null_encode", "tokenizer null_encode: function encode of its table is NULL"},
      {"bad_default", "corpus bad_default: parameter bits: bad default: bits: got 9, wanted 2..8"},
      {"twice_parameter", "corpus twice_parameter: parameter bits: declared twice"},
      {"duplicate_id", "corpus duplicate_id: offered twice"},
      {"init_fails", "init: no"},
      {"constructor_exit", "its process, while it was loaded, exited with code 0"},
      {"constructor_abort",
       "its process, while it was loaded, was ended by signal 6 (Aborted); its last words: the sky "
       "is falling"},
      {"constructor_locale",
       "changes its process when it is loaded: the locale is now C.UTF-8, wanted C"},
      {"needs_helper",
       "cannot be loaded: libfault_helper.so: cannot open shared object file: No such file or "
       "directory"},
  };
  for (const auto& [id, reason] : cases) {
    INFO(id);
    PluginFolder folder;
    folder.add(id);
    CHECK(folder.reason() == reason);
  }
}

TEST_CASE("probing: a library that was built for a later minor, and does with this one, is taken",
          "[core][plugin]") {
  PluginFolder folder;
  folder.add("later_minor");
  const quench::Catalog catalog = folder.catalog();
  CHECK(catalog.rejected().empty());
  CHECK(catalog.find("corpus", "later_minor") != nullptr);
}

TEST_CASE("probing: a plugin of another libtorch that brings none is refused with both versions",
          "[core][plugin]") {
  PluginFolder folder;
  folder.add("far_torch");
  CHECK_THAT(folder.reason(),
             StartsWith("it was built for libtorch 9.9 and brings none, and this quench has "));
}

TEST_CASE("probing: a library that starts a process is rejected, where it may start one",
          "[core][plugin]") {
  PluginFolder folder;
  folder.add("constructor_forks");
  quench::CatalogOptions options = folder.catalog().options();
  options.sandbox = quench::Sandbox::kOff;
  const quench::Catalog catalog(options);
  REQUIRE(catalog.rejected().size() == 1);
  CHECK(catalog.rejected()[0].reason == "starts a process when it is loaded");
}

TEST_CASE("probing: an exception that leaves init ends the child only", "[core][plugin]") {
  PluginFolder folder;
  folder.add("init_throws");
  const std::string reason = folder.reason();
  CHECK_THAT(reason,
             StartsWith("its process, in init, was ended by signal 6 (Aborted); its last words: "));
  CHECK_THAT(reason, Contains("thrown over the border"));
}

TEST_CASE("probing: a constructor that never returns is stopped at the limit", "[core][plugin]") {
  PluginFolder folder;
  folder.add("constructor_hang");
  folder.add("good");
  const auto start = std::chrono::steady_clock::now();
  const quench::Catalog catalog = folder.catalog(1.5);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  CHECK(took.count() < 10);
  CHECK(catalog.find("corpus", "good") != nullptr);
  REQUIRE(catalog.rejected().size() == 1);
  CHECK_THAT(catalog.rejected()[0].reason,
             StartsWith("did not answer within 1.5 s (stopped while it was loaded); "));
}

TEST_CASE("probing: a library that did not answer in time costs its limit once", "[core][plugin]") {
  PluginFolder folder;
  folder.add("good", "slow");
  REQUIRE(folder.catalog().find("corpus", "good") != nullptr);
  folder.add("constructor_hang", "slow");
  for (const size_t probes : std::initializer_list<size_t>{1, 0, 0}) {
    const quench::Catalog busy = folder.catalog(0.5);
    CHECK(busy.probe_count() == probes);
    CHECK(busy.items().empty());  // what was known of the file before says nothing
    REQUIRE(busy.rejected().size() == 1);
    CHECK(busy.rejected()[0].passing);
    CHECK(busy.rejected()[0].reason ==
          "did not answer within 0.5 s (stopped while it was loaded); it is asked again when a "
          "plugin of its name is wanted, or by `quench plugins rescan`");
  }
  SECTION("it is asked again where it is named") {
    const quench::Catalog busy = folder.catalog(0.5);
    CHECK(code_of([&] { busy.require("corpus", "slow"); }) == QUENCH_UNAVAILABLE);
    CHECK_THAT(message_of([&] { busy.require("corpus", "slow"); }),
               Contains("slow.so was rejected: did not answer within 0.5 s"));
    CHECK(folder.catalog(0.5).probe_count() == 0);
  }
  SECTION("a rescan asks it again") {
    quench::forget_probes(folder.cache());
    CHECK(folder.catalog(0.5).probe_count() == 1);
  }
  SECTION("other bytes are asked") {
    folder.add("good", "slow");
    CHECK(folder.catalog().find("corpus", "good") != nullptr);
  }
}

TEST_CASE("probing: a library that answers when it is named is found by the next catalog",
          "[core][plugin]") {
  PluginFolder folder;
  folder.add("constructor_sleeps");
  const quench::Catalog busy = folder.catalog(0);
  REQUIRE(busy.rejected().size() == 1);
  REQUIRE(busy.rejected()[0].passing);
  const quench::Catalog quiet = folder.catalog();
  CHECK(quiet.probe_count() == 0);
  CHECK_THAT(message_of([&] { quiet.require("corpus", "constructor_sleeps"); }),
             Contains("sleeps.so did not answer in time before and does now: try again"));
  CHECK(folder.catalog().find("corpus", "constructor_sleeps") != nullptr);
}

TEST_CASE("probing: a fault that may pass is not remembered", "[core][plugin]") {
  PluginFolder folder;
  SECTION("a library that is needed is not there yet") {
    folder.add("needs_helper");
    const quench::Catalog without = folder.catalog();
    REQUIRE(without.rejected().size() == 1);
    CHECK(without.rejected()[0].passing);
    CHECK(code_of([&] { without.require("corpus", "needs_helper"); }) == QUENCH_UNAVAILABLE);
    folder.add_helper("a");
    CHECK(folder.catalog().find("corpus", "needs_helper") != nullptr);
  }
  SECTION("the process was killed from outside") {
    folder.add("constructor_killed");
    for (int look = 0; look < 2; ++look) {
      const quench::Catalog killed = folder.catalog();
      CHECK(killed.probe_count() == 1);
      REQUIRE(killed.rejected().size() == 1);
      CHECK(killed.rejected()[0].passing);
      CHECK(killed.rejected()[0].reason ==
            "its process, while it was loaded, was killed from outside (SIGKILL: the system ran "
            "out of memory, or somebody ended it)");
    }
  }
  SECTION("memory has a limit") {
    folder.add("constructor_abort");
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    const rlimit limited{rlim_t{1} << 46, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_AS, &limited) == 0);
    CHECK(folder.catalog().rejected().at(0).passing);
    REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
    const quench::Catalog after = folder.catalog();
    CHECK(after.probe_count() == 1);
    CHECK_FALSE(after.rejected().at(0).passing);
    CHECK(folder.catalog().probe_count() == 0);
  }
}

TEST_CASE("probing: however few files may be open, a plugin is found when more may",
          "[core][plugin]") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  for (rlim_t files = 3; files < 24; ++files) {
    CAPTURE(files);
    PluginFolder folder;
    folder.add("good");
    const quench::CatalogOptions options = folder.catalog().options();
    quench::forget_probes(folder.cache());
    const rlimit limited{files, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limited) == 0);
    try {
      const quench::Catalog few(options);
    } catch (const quench::Error&) {  // it may say so
    }
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(folder.catalog().find("corpus", "good") != nullptr);
  }
}

TEST_CASE("probing: what a constructor prints is not taken for the description", "[core][plugin]") {
  PluginFolder folder;
  folder.add("constructor_prints");
  const quench::Catalog catalog = folder.catalog();
  CHECK(catalog.rejected().empty());
  CHECK(catalog.find("corpus", "constructor_prints") != nullptr);
}

TEST_CASE("probing: an entry that only a dependency defines does not count", "[core][plugin]") {
  PluginFolder folder;
  folder.add("symbol_elsewhere");
  folder.add_helper("a", "libfault_entry.so");
  CHECK(folder.reason() == "has no symbol quench_module_v1 of its own; the one that was found is " +
                               (folder.path() / "deps/libfault_entry.so").string() + "'s");
}

TEST_CASE("probing: the program itself is no plugin", "[core][plugin]") {
  PluginFolder folder;
  std::filesystem::create_directories(folder.path());
  std::filesystem::create_symlink(quench::test::quench_executable(), folder.path() / "self.so");
  CHECK(folder.reason() == "is the program itself");
}

TEST_CASE("probing: text and empty files are no libraries", "[core][plugin]") {
  quench::test::TemporaryDir folder;
  folder.write("plugins/text.so", "GROUP ( libc.so.6 )\n");
  folder.write("plugins/void.so", "");
  const quench::Catalog catalog(
      {{folder / "plugins"}, folder / "cache", quench::test::quench_executable(), 20});
  REQUIRE(catalog.rejected().size() == 2);
  CHECK(catalog.rejected()[0].reason == "not an ELF file");
  CHECK(catalog.rejected()[1].reason == "not an ELF file");
}
