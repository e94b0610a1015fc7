// What the host makes of a format that offers what it should not.
#include "core/plugin/handles/format_handle.hpp"

#include <catch2/catch.hpp>
#include <utility>

#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/catalog/choose.hpp"
#include "tests/core/plugin/fault_plugins.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::Catalog;
using quench::CheckpointPlace;
using quench::FormatHandle;
using quench::test::message_of;
using quench::test::PluginFolder;
using quench::test::TemporaryDir;

TEST_CASE("format handle: offers are held to what files are held to", "[core][plugin]") {
  PluginFolder folder;
  folder.add("lying_format");
  Catalog catalog = folder.catalog();
  const FormatHandle format(catalog, catalog.require("format", "lying_format"));
  CHECK(format.reads());
  CHECK_FALSE(format.writes());
  const auto open = [&](const char* lie) {
    const TemporaryDir place;
    place.write("config.json", lie);
    return message_of([&] {
      const auto contents = format.open(std::make_shared<CheckpointPlace>(place.path()));
      float all[4];
      contents.source->read(0, 0, 4, all);
    });
  };
  CHECK(open("truth").empty());
  const std::pair<const char*, const char*> lies[] = {
      {"nothing", "open succeeded without an instance"},
      {"no_tensors", "offers no tensors"},
      {"no_read", "a table of them with a NULL function"},
      {"count", "offers 18446744073709551615 tensors, at most 4194304 are taken"},
      {"no_name", "a tensor has no name"},
      {"same_name", "name given twice"},
      {"dtype", "which checkpoints do not hold"},
      {"lanes", "which checkpoints do not hold"},
      {"dimensions", "9 dimensions, wanted 0 to 8"},
      {"no_shape", "-1 dimensions, wanted 0 to 8"},
      {"negative", "shape [-1, 2] is negative or has more than 2^63 bytes"},
      {"huge", "is negative or has more than 2^63 bytes"},
      {"later", "is shared with tensor 1, which comes later"},
      {"config", "its config:1:1: invalid JSON"},
      {"list", "its config is array, wanted an object"},
      {"tokenizer", "its tokenizer is called '../outside'"},
      {"status", "read returned 99, which is no status"},
  };
  for (const auto& [lie, message] : lies) {
    CAPTURE(lie);
    CHECK_THAT(open(lie), Catch::Contains(message));
  }
  const TemporaryDir place;
  place.write("config.json", "score");
  CHECK(message_of([&] { format.probe(CheckpointPlace(place.path())); }) ==
        "format lying_format: probe returned 101, wanted 0..100");
  CHECK_THAT(message_of([&] { format.list(CheckpointPlace(place.path())); }),
             Catch::Contains("lists '../outside', which is no file of the place"));
  quench::shutdown_plugins();
}

TEST_CASE("format: half of the functions for reading or writing are refused", "[core][plugin]") {
  PluginFolder folder;
  folder.add("half_format");
  CHECK(folder.reason() == "format half_format: function fits of its table is NULL");
}

TEST_CASE("choose_format: a format that did not come with the program is asked where none reads",
          "[core][plugin]") {
  PluginFolder folder;
  folder.add("lying_format");
  Catalog catalog = folder.catalog();
  const TemporaryDir place;
  place.write("weights", "");
  const quench::FormatChoice choice = choose_format(catalog, CheckpointPlace(place.path()));
  REQUIRE(choice.format != nullptr);
  CHECK(choice.format->id == "lying_format");
}
