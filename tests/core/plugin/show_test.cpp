#include "core/plugin/catalog/show.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/plugin/catalog/check.hpp"
#include "tests/core/plugin/fault_plugins.hpp"
#include "tests/support/throws.hpp"

using Catch::Matchers::Contains;
using quench::test::PluginFolder;

TEST_CASE("plugins list: items, shadowed and rejected libraries are listed", "[core][plugin]") {
  PluginFolder folder;
  folder.add("good", "a");
  folder.add("other", "b");
  folder.add("bad_default");
  const quench::Catalog catalog = folder.catalog();
  const quench::PluginsList list = quench::plugins_list(catalog);
  REQUIRE(list.rows.at(1).size() == list.rows.at(0).size());
  CHECK(list.rows[1][0] == "corpus");
  CHECK(list.rows[1][1] == "good");
  CHECK(list.rows[1][2] == "1.0.0");
  CHECK(list.rows[1][3] == "A corpus of two words.");
  REQUIRE(list.notes.size() == 2);
  CHECK_THAT(list.notes[0], Contains("shadowed: corpus good in "));
  CHECK_THAT(list.notes[1], Contains("rejected: ") && Contains("bits: got 9, wanted 2..8"));
  const auto listed = quench::plugins_list_json(catalog);
  CHECK(listed["plugins"][0]["id"] == "good");
  CHECK(listed["shadowed"].size() == 1);
  CHECK(listed["rejected"].size() == 1);
}

TEST_CASE("plugins show: parameters, reference and example are shown", "[core][plugin]") {
  PluginFolder folder;
  folder.add("good");
  const quench::Catalog catalog = folder.catalog();
  const std::string text = quench::plugin_show(catalog, "corpus/good");
  CHECK_THAT(text, Contains("bits       integer  4        2..8"));
  CHECK_THAT(text, Contains("damp       number   not set  at least 0"));
  CHECK_THAT(text, Contains("one of given, diagonal"));
  CHECK_THAT(text, Contains("process    shared\n"));
  CHECK_THAT(text, Contains("reference  Nobody (2024)"));
  CHECK_THAT(text, Contains("  - good: {}"));
  CHECK(quench::plugin_show_json(catalog, "good")["plugins"][0]["parameters"][0]["type"] ==
        "integer");
  CHECK_THROWS_WITH(quench::plugin_show(catalog, "gud"), Contains("did you mean good?"));
}

TEST_CASE("plugins list, show and check: each says where a plugin runs", "[core][plugin]") {
  PluginFolder folder;
  folder.add("good");
  quench::CatalogOptions options = folder.catalog().options();
  options.load_in_worker = [](const auto&) -> const quench_item& { throw 0; };  // nothing is loaded
  const quench::Catalog catalog(options);
  CHECK(quench::plugins_list_json(catalog)["plugins"][0]["process"] == "own");
  CHECK(quench::plugin_show_json(catalog, "good")["plugins"][0]["process"] == "own");
  CHECK_THAT(quench::plugin_show(catalog, "good"),
             Contains("process    own: not part of this installation\n"));
  CHECK_THAT(quench::plugin_check(catalog, quench::test::fault_library("good.so")).text,
             Contains("ok      runs in a process of its own: not part of this installation\n"));
}

TEST_CASE("plugins why: says where, by what shadowed, and why rejected", "[core][plugin]") {
  PluginFolder folder;
  folder.add("good", "a");
  folder.add("other", "b");
  folder.add("bad_default");
  const quench::Catalog catalog = folder.catalog();
  CHECK_THAT(quench::plugin_why(catalog, "good"),
             Contains("a.so (first on the search path)") && Contains("b.so is shadowed by "));
  CHECK_THAT(quench::plugin_why(catalog, "bad_default"),
             Contains("is rejected: corpus bad_default: parameter bits: bad default"));
  CHECK_THAT(quench::plugin_why(catalog, "nothing"), Contains("looked in "));
  CHECK_THAT(quench::plugin_why(catalog, "corpus/goot"), Contains("did you mean good?"));
}

TEST_CASE("plugins why: what would mend a rejected file is said", "[core][plugin]") {
  PluginFolder folder;
  folder.add("constructor_exit");
  folder.add("no_symbol");
  const quench::Catalog catalog = folder.catalog();
  CHECK_THAT(quench::plugin_why(catalog, "no_symbol"),
             Contains("is rejected: has no symbol ") && Contains("\n  to mend it: build it with "));
  CHECK_THAT(quench::plugin_why(catalog, "mine"),
             Contains("constructor_exit.so is rejected: ") && Contains("never ends the process"));
}

TEST_CASE("catalog: what was rejected is named where a plugin is missing", "[core][plugin]") {
  PluginFolder folder;
  folder.add("good");
  folder.add("bad_default");
  const quench::Catalog catalog = folder.catalog();
  CHECK_THAT(quench::test::message_of([&] { catalog.require("corpus", "mine"); }),
             Contains("; rejected: ") && Contains("bad_default.so, and `quench plugins why mine`"));
  CHECK_THAT(catalog.rejected_of("model", {"bad_default"}),
             Contains("bad_default.so was rejected"));
  CHECK(catalog.rejected_of("model", {"qwen3"}).empty());
}

TEST_CASE("plugins check: a good library passes, a bad one fails with its fault",
          "[core][plugin]") {
  const quench::Catalog nothing({{}, "", quench::test::quench_executable(), 20});
  const auto check = [&](const std::string& library) {
    return quench::plugin_check(nothing, quench::test::fault_library(library));
  };
  const quench::PluginCheck good = check("good.so");
  CHECK(good.passed);
  CHECK_THAT(good.text, Contains("ok      exports quench_module_v1 and nothing else\n") &&
                            Contains("ok      corpus good 1.0.0, 3 parameter(s)\n"));
  const quench::PluginCheck slot = check("null_slot.so");
  CHECK_FALSE(slot.passed);
  CHECK_THAT(slot.text, Contains("failed  corpus null_slot: function next of its table is NULL\n"));
  const quench::PluginCheck other = check("no_symbol.so");
  CHECK_FALSE(other.passed);
  CHECK_THAT(other.text, Contains("failed  does not export quench_module_v1\n") &&
                             Contains("exports 1 symbol(s) beside quench_module_v1: "
                                      "fault_no_symbol; link with the SDK's version script"));
  CHECK_FALSE(check("nowhere.so").passed);
}

TEST_CASE("plugins markdown: one section per kind and plugin", "[core][plugin]") {
  PluginFolder folder;
  folder.add("good");
  const std::string text = quench::plugins_markdown(folder.catalog());
  CHECK_THAT(text, Contains("\n## corpus\n\n### good\n\nA corpus of two words.\n"));
  CHECK_THAT(text, Contains("| `bits` | integer | `4` | 2..8 | what it means |\n"));
  CHECK_THAT(text, Contains("```yaml\n- good: {}\n```\n"));
}
