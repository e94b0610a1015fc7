// Those of this build, each held to what every tokenizer promises, on a file of its own.
#include <catch2/catch.hpp>
#include <string>

#include "tests/contract/built_plugin.hpp"
#include "tests/contract/tensors.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

std::string sample_of(const std::string& id, const TemporaryDir& dir) {
  const auto data = source_dir() / "tests";
  if (id == "tokenizer_json") {
    // A seed of the fuzzer is a file, the byte 0xFF and a text.
    const std::string seed = read_file(data / "fuzz/seeds/tokenizer/byte_level.json");
    return dir.write("tokenizer.json", seed.substr(0, seed.find('\xFF')));
  }
  if (id == "sentencepiece") {
    return dir.write("tokenizer.model", read_file(data / "data/sentencepiece/unigram_bytes.model"));
  }
  return dir.write("tokenizer.words", "?\none\ntwo\n12.5\nthe\nx\n");
}

}  // namespace

TEST_CASE("every tokenizer keeps what tokenizers promise", "[contract][tokenizers]") {
  for (const quench_item* item : items_of(TOKENIZER_LIBRARIES, "tokenizer")) {
    const TemporaryDir dir;
    BuiltPlugin plugin(*item);
    plugin.use_sample(sample_of(item->id, dir));
    check_promises(plugin);
  }
}

}  // namespace quench::test
