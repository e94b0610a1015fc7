#include "core/plugin/handles/tokenizer_handle.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/plugin/catalog/choose.hpp"
#include "tests/core/plugin/fault_plugins.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace quench::test {

namespace {

struct OddTokenizer {
  PluginFolder folder;
  Catalog catalog;

  OddTokenizer() : catalog((folder.add("odd_tokenizer"), folder.catalog())) {}
  ~OddTokenizer() { shutdown_plugins(); }

  TokenizerHandle open(const std::string& fault) {
    return {catalog, catalog.require("tokenizer", "odd_tokenizer"), fault, "a.odd",
            nlohmann::json::object()};
  }
  // The message with which a batch of "one" and "two" fails, or "".
  std::string fault_of(const std::string& fault) {
    return message_of([&] {
      TokenizerHandle tokenizer = open(fault);
      TextBatch batch;
      batch.add("one");
      batch.add("two");
      tokenizer.encode(batch, false);
    });
  }
};

}  // namespace

TEST_CASE("tokenizer handle: a batch gives the ids of each document", "[core][plugin]") {
  OddTokenizer odd;
  TokenizerHandle tokenizer = odd.open("");
  CHECK(tokenizer.id() == "odd_tokenizer");
  CHECK(tokenizer.vocabulary_size() == 256);
  CHECK(tokenizer.encode({}, false).documents() == 0);
  TextBatch batch;
  batch.add("ab");
  batch.add("");
  batch.add("\xff");
  const EncodedBatch encoded = tokenizer.encode(batch, false);
  CHECK(encoded.ids == std::vector<int32_t>{'a', 'b', 255});
  CHECK(encoded.offsets == std::vector<uint64_t>{0, 2, 2, 3});
  TextBatch nothing;
  nothing.add("");
  CHECK(tokenizer.encode(nothing, true).ids.empty());
  TokenizerHandle moved = std::move(tokenizer);
  CHECK(moved.encode(batch, false).ids == encoded.ids);
}

TEST_CASE("tokenizer handle: what a plugin does wrong is its fault by name", "[core][plugin]") {
  OddTokenizer odd;
  CHECK(odd.fault_of("no instance") ==
        "tokenizer odd_tokenizer: open succeeded without an instance");
  CHECK(odd.fault_of("no call") ==
        "tokenizer odd_tokenizer: encode asked for the ids' memory 0 times, wanted once");
  CHECK(odd.fault_of("two calls") ==
        "tokenizer odd_tokenizer: encode asked for the ids' memory 2 times, wanted once");
  CHECK(odd.fault_of("small vocabulary") ==
        "tokenizer odd_tokenizer: encode gave the id 111, and its vocabulary has 100");
  CHECK(odd.fault_of("endless") == "tokenizer odd_tokenizer: no memory");
}

TEST_CASE("choose tokenizer: plugins are asked about the file", "[core][plugin]") {
  OddTokenizer odd;
  const TemporaryDir files;
  CHECK(choose_tokenizer_plugin(odd.catalog, files.write("some.odd", "x")).id == "odd_tokenizer");
  const auto other = files.write("other.txt", "x");
  CHECK(message_of([&] { choose_tokenizer_plugin(odd.catalog, other); }) ==
        other.string() + ": no tokenizer reads this file; odd_tokenizer");
  CHECK_FALSE(find_tokenizer_file(odd.catalog, files.path()));
  const auto named = files.write("tokenizer.odd", "x");
  CHECK(find_tokenizer_file(odd.catalog, files.path()) == named);
  CHECK_FALSE(find_tokenizer_file(odd.catalog, files / "nowhere"));
}

TEST_CASE("choose tokenizer: without a tokenizer the file is named", "[core][plugin]") {
  PluginFolder folder;
  folder.add("good");
  Catalog catalog = folder.catalog();
  const TemporaryDir files;
  const auto file = files.write("tokenizer.json", "{}");
  CHECK(message_of([&] { choose_tokenizer_plugin(catalog, file); }) ==
        file.string() + ": no tokenizer reads this file; none is installed");
}

}  // namespace quench::test
