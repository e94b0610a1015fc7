// A tokenizer inside the file of the weights, from the format that reads it to the ids.
#include <catch2/catch.hpp>

#include "core/base/io/sha256.hpp"
#include "core/checkpoint/side_files.hpp"
#include "core/inputs/corpora/tokenizer.hpp"
#include "core/inputs/weights/open_checkpoint_folder.hpp"
#include "run/grid/identity.hpp"
#include "tests/core/plugin/fault_plugins.hpp"
#include "tests/support/temporary.hpp"

using quench::TokenizerChoice;
using quench::test::PluginFolder;
using quench::test::TemporaryDir;

namespace {

// A checkpoint that carries a tokenizer of one byte, "x", and plugins that read both.
struct Carrying {
  PluginFolder plugins;
  quench::Catalog catalog;
  TemporaryDir place;

  Carrying()
      : catalog((plugins.add("lying_format"), plugins.add("odd_tokenizer"), plugins.catalog())) {
    place.write("config.json", "\"carries\"");
  }
  ~Carrying() { quench::shutdown_plugins(); }

  quench::CheckpointFolder open() { return open_checkpoint_folder(catalog, place.path()); }
  TokenizerChoice choice() { return TokenizerChoice::of(catalog, open()); }
};

}  // namespace

TEST_CASE("carried tokenizer: it counts as the file that it would be", "[core][plugin]") {
  Carrying one;
  TokenizerChoice carried = one.choice();
  REQUIRE(carried.exists());
  CHECK(carried.get(one.catalog).encode("ab", false) == std::vector<int32_t>{'a', 'b'});
  const quench::TokenizerIdentity identity = carried.identity(one.catalog);
  CHECK(identity.file == quench::sha256_hex("x"));
  REQUIRE(identity.plugin != nullptr);
  CHECK(identity.plugin->id == "odd_tokenizer");
  one.place.write("tokenizer.odd", "x");
  CHECK(TokenizerChoice::beside(one.catalog, one.place.path()).identity(one.catalog).key() ==
        identity.key());
}

TEST_CASE("carried tokenizer: a file beside the weights goes first", "[core][plugin]") {
  Carrying one;
  one.place.write("tokenizer.odd", "y");
  CHECK(one.choice().identity(one.catalog).file == quench::sha256_hex("y"));
}

TEST_CASE("carried tokenizer: the key of a value has it", "[core][plugin]") {
  Carrying one;
  const TemporaryDir home;
  const quench::Fingerprints fingerprints(home.path());
  quench::Identities identities(one.catalog, fingerprints, {});
  quench::CheckpointCell cell;
  cell.location = one.place.path().string();
  CHECK(identities.tokenizer({}, cell).key() == one.choice().identity(one.catalog).key());
}

TEST_CASE("carried tokenizer: a copy of the checkpoint has it as a file", "[core][plugin]") {
  Carrying one;
  const TemporaryDir to;
  quench::WrittenFiles written;
  copy_side_files(one.open(), {}, to.path(), written);
  CHECK(quench::test::read_file(to / "tokenizer.odd") == "x");
  CHECK(written.count("tokenizer.odd") == 1);
  SECTION("but not where another one takes its place") {
    const TemporaryDir other;
    one.place.write("vocab.txt", "words");
    copy_side_files(one.open(), {}, other.path(), written);
    CHECK_FALSE(std::filesystem::exists(other / "tokenizer.odd"));
  }
}
