// tokenizer.model files that must be refused, each with the words it must be refused with.
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

#include "tests/plugins/tokenizers/model_bytes.hpp"
#include "tests/plugins/tokenizers/opened.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::tokenizers {

using test::bytes_field;
using test::number_field;
using test::piece;

namespace {

const std::string kGood = piece("<unk>", 0, 2) + piece("a", -1);

std::string refusal(const std::string& bytes) {
  try {
    Tokenizer::from_sentencepiece(bytes, "tokenizer.model");
  } catch (const kit::Error& error) {
    return error.what();
  }
  return "";
}

struct BadModel {
  std::string bytes;
  std::string message;
};

void check_refusals(const std::vector<BadModel>& all) {
  REQUIRE(refusal(kGood).empty());
  for (const BadModel& bad : all) {
    CHECK(refusal(bad.bytes) == "tokenizer.model: " + bad.message);
  }
}

std::string little_endian(uint32_t value) {
  std::string out(4, '\0');
  std::memcpy(out.data(), &value, 4);
  return out;
}

// A charsmap of these trie units.
std::string charsmap(const std::vector<uint32_t>& units, const std::string& replacements) {
  std::string trie;
  for (const uint32_t unit : units) {
    trie += little_endian(unit);
  }
  return little_endian(static_cast<uint32_t>(trie.size())) + trie + replacements;
}

std::string with_charsmap(const std::string& map) {
  return kGood + bytes_field(3, bytes_field(2, map) + number_field(3, 0));
}

// The trie of one rule, for "b": the root's child is at 256 ^ 'b', its leaf at 512.
std::vector<uint32_t> one_rule(uint32_t value) {
  std::vector<uint32_t> units(768, 0x80000000);
  units[0] = 256u << 10;
  units[256 ^ 'b'] = ((256u ^ 'b' ^ 512u) << 10) | 0x100 | 'b';
  units[512] = 0x80000000 | value;
  return units;
}

}  // namespace

TEST_CASE("tokenizer.model: what is no message is refused with the byte", "[tokenizers]") {
  const std::string eleven(11, '\x80');
  check_refusals({
      {"", "no pieces"},
      {kGood + "\x0a\xff\xff\xff\xff\x0f", "byte 28: field 1 has 4294967295 bytes, 0 are left"},
      {kGood + "\x0a\x05" + "abc", "byte 28: field 1 has 5 bytes, 3 are left"},
      {kGood + eleven + '\x01', "byte 28: a number has more than 64 bits"},
      {kGood + number_field(9, 0).substr(0, 1) + eleven, "byte 28: a number has more than 64 bits"},
      {kGood + "\x80", "byte 28: a number is cut off by the end"},
      {kGood + std::string("\x00", 1), "byte 28: field number 0, wanted 1 to 536870911"},
      {kGood + "\x0b", "byte 28: field 1 has wire type 3, wanted 2"},
      {kGood + "\x7b", "byte 28: field 15 has wire type 3, which no tokenizer.model has"},
      {kGood + "\x7d\x01\x02", "byte 28: field 15 has 4 bytes, 2 are left"},
      {kGood + bytes_field(1, bytes_field(2, "abcd")),
       "byte 30: field 2 has wire type 2, wanted 5"},
      {"IQ== 0\nIg== 1\n",
       "a tiktoken vocabulary, not a SentencePiece model: name a tokenizer.json instead"},
  });
}

TEST_CASE("tokenizer.model: pieces that cannot be are refused with their number", "[tokenizers]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  check_refusals({
      {kGood + piece(""), "byte 30: piece 2: wanted 1 to 512 bytes, got 0"},
      {kGood + piece(std::string(200'000, 'a')),
       "byte 32: piece 2: wanted 1 to 512 bytes, got 200000"},
      {kGood + piece(std::string("a\0b", 3)),
       "byte 30: piece 2: \"a\\x00b\" has a NUL; the byte 0 is spelled <0x00>"},
      {kGood + piece("\xff"), "byte 30: piece 2: \"\\xff\" is not UTF-8"},
      {kGood + piece("b", nan), "byte 30: piece 2: \"b\" has the score nan, wanted a finite one"},
      {kGood + piece("b", 0, 7), "byte 38: piece type 7, wanted 1 to 6"},
      {kGood + piece("a"), "piece 2: \"a\" is there twice"},
      {kGood + piece("<unk2>", 0, 2), "pieces 0 and 2 are both the unknown one"},
      {piece("a"), "no piece is the unknown one"},
      {piece("<unk>", 0, 2), "no piece can be found in text"},
      {kGood + piece("<0x41>", 0, 6), "piece 2: \"<0x41>\" is a byte, but byte_fallback is false"},
      {kGood + piece("<0xfg>", 0, 6) + test::trainer(1, number_field(35, 1)),
       "piece 2: \"<0xfg>\" is a byte, wanted <0x00> to <0xFF>"},
      {kGood + piece("<0x00>", 0, 6) + test::trainer(1, number_field(35, 1)),
       "byte_fallback is true, but there is no piece <0x01>"},
      {kGood + test::trainer(3),
       "model type word is not supported; supported: unigram (1), bpe (2)"},
      {kGood + test::trainer(9), "model type 9 is not supported; supported: unigram (1), bpe (2)"},
  });
}

TEST_CASE("tokenizer.model: a forged charsmap is refused, whatever it points to", "[tokenizers]") {
  const std::string good = with_charsmap(charsmap(one_rule(0), std::string("a\0", 2)));
  REQUIRE(Tokenizer::from_sentencepiece(good, "good").encode("bab", false) ==
          std::vector<int32_t>{1, 1, 1});
  std::vector<uint32_t> no_leaf = one_rule(0);
  no_leaf[256 ^ 'b'] = (0x1FFFFFu << 10) | 0x300 | 'b';
  std::vector<uint32_t> half_character = one_rule(0);
  half_character[256 ^ 0xC3] = ((256u ^ 0xC3u ^ 512u) << 10) | 0x100 | 0xC3;
  check_refusals({
      {with_charsmap("abc"), "charsmap: a trie of 0 bytes, in a map of 3"},
      {with_charsmap(little_endian(8) + "abcdefg"), "charsmap: a trie of 8 bytes, in a map of 11"},
      {with_charsmap(little_endian(0xFFFFFFFC) + "abcd"),
       "charsmap: a trie of 4294967292 bytes, in a map of 8"},
      {with_charsmap(little_endian(3) + "abcd"), "charsmap: a trie of 3 bytes, in a map of 8"},
      {with_charsmap(std::string((1 << 21) + 1, 'a')),
       "charsmap: 2097153 bytes, wanted at most 2097152"},
      {with_charsmap(charsmap(one_rule(2), std::string("a\0", 2))),
       "charsmap: unit 512: a replacement outside the map"},
      {with_charsmap(charsmap(one_rule(0x7FFFFFFF), std::string("a\0", 2))),
       "charsmap: unit 512: a replacement outside the map"},
      {with_charsmap(charsmap(one_rule(0), "a")),
       "charsmap: unit 512: a replacement that does not end"},
      {with_charsmap(charsmap(one_rule(0), std::string("\xff\0", 2))),
       "charsmap: unit 512: a replacement that is not UTF-8"},
      {with_charsmap(charsmap(half_character, std::string("a\0", 2))),
       "charsmap: unit 512: a rule for a part of a character"},
  });
  CHECK_THAT(refusal(with_charsmap(charsmap(no_leaf, std::string("a\0", 2)))),
             Catch::EndsWith("a replacement outside the map"));
}

TEST_CASE("tokenizer.model: a charsmap that goes in circles costs no more than the text",
          "[tokenizers]") {
  // "b" leads to the unit that "b" leads to.
  std::vector<uint32_t> units(512, 0x80000000);
  units[0] = 256u << 10;
  units[256 ^ 'b'] = ((256u ^ 'b' ^ 256u) << 10) | 'b';
  const auto tokenizer = Tokenizer::from_sentencepiece(
      with_charsmap(charsmap(units, std::string("a\0", 2))), "circle");
  CHECK(tokenizer.encode(std::string(1 << 17, 'b'), false) == std::vector<int32_t>{0});
}

TEST_CASE("tokenizer.model: cut anywhere it is refused, or what is left is whole", "[tokenizers]") {
  for (const char* name : {"unigram", "bpe"}) {
    const std::string whole = quench::test::read_file(
        quench::test::source_dir() / "tests/data/sentencepiece" / (std::string(name) + ".model"));
    size_t refused = 0;
    for (size_t size = 0; size < whole.size(); ++size) {
      const std::string message = refusal(whole.substr(0, size));
      CHECK((message.empty() || message.starts_with("tokenizer.model: ")));
      refused += message.empty() ? 0 : 1;
    }
    CHECK(refused > whole.size() * 8 / 10);  // between fields it is a shorter model
  }
}

TEST_CASE("tokenizer.model: pieces inside pieces cost time in their length, not more",
          "[tokenizers]") {
  std::string model = piece("<unk>", 0, 2);
  for (size_t length = 1; length <= 512; ++length) {
    model += piece(std::string(length, 'a'), -static_cast<float>(length));
  }
  for (const int type : {test::kUnigram, test::kBpe}) {
    const auto tokenizer = Tokenizer::from_sentencepiece(
        model + test::trainer(type) + test::plain_normalizer(), "deep");
    size_t characters = 0;
    for (const int32_t id : tokenizer.encode(std::string(100'000, 'a'), false)) {
      characters += static_cast<size_t>(id);
    }
    CHECK(characters == 100'000);
  }
}

}  // namespace quench::tokenizers
