#include <catch2/catch.hpp>

#include "tests/plugins/tokenizers/small_tokenizers.hpp"

namespace quench::tokenizers {

using test::Ids;

TEST_CASE("tokenizer: words merge by rank, within words only", "[tokenizers]") {
  const Tokenizer small = test::open(test::byte_level_file({"h e", "l l", "he ll", "Ġ he"}));
  CHECK(small.encode("hell", false) == Ids{258});
  // "Ġ he" comes after "he ll", so it finds no "he" any more.
  CHECK(small.encode(" hell", false) == Ids{' ', 258});
  CHECK(small.encode(" he", false) == Ids{259});
  CHECK(small.encode("he'll", false) == Ids{256, '\'', 257});
  CHECK(small.encode("h1e", false) == Ids{'h', '1', 'e'});
  CHECK(small.encode("", true) == Ids{});
  CHECK(small.vocabulary_size() == 260);
}

TEST_CASE("tokenizer: of equal ranks the leftmost pair merges first", "[tokenizers]") {
  const Tokenizer small = test::open(test::byte_level_file({"a a"}));
  CHECK(small.encode("aaa", false) == Ids{256, 'a'});
  CHECK(small.encode("aaaaa", false) == Ids{256, 256, 'a'});
}

TEST_CASE("tokenizer: merges may be pairs as well as strings", "[tokenizers]") {
  auto file = test::byte_level_file({"h e", "l l"});
  file["model"]["merges"] = nlohmann::json::parse(R"([["h", "e"], ["l", "l"]])");
  CHECK(test::open(file).encode("hell", false) == Ids{256, 257});
}

TEST_CASE("tokenizer: every byte of a character is an id of a byte-level file", "[tokenizers]") {
  const Tokenizer small = test::open(test::byte_level_file({}));
  CHECK(small.encode("\u00e9\u20ac", false) == Ids{0xC3, 0xA9, 0xE2, 0x82, 0xAC});
  CHECK(small.encode(std::string_view("a\0b", 3), false) == Ids{'a', 0, 'b'});
}

TEST_CASE("tokenizer: NFC joins what was written apart", "[tokenizers]") {
  const Tokenizer small = test::open(test::byte_level_file({}));
  CHECK(small.encode("e\u0301", false) == Ids{0xC3, 0xA9});
}

TEST_CASE("tokenizer: a character without an entry is dropped when there is no unknown token",
          "[tokenizers]") {
  auto file = test::byte_level_file({});
  file["model"]["vocab"].erase("b");
  CHECK(test::open(file).encode("abc", false) == Ids{'a', 'c'});
}

TEST_CASE("tokenizer: invalid UTF-8 is refused with its offset", "[tokenizers]") {
  const Tokenizer small = test::open(test::byte_level_file({}));
  CHECK_THROWS_WITH(small.encode("ab\xFF", false), "text: byte 2 (0xff) is not valid UTF-8");
  // A surrogate, an overlong slash, a character cut short.
  CHECK_THROWS_WITH(small.encode("\xED\xA0\x80", false), "text: byte 0 (0xed) is not valid UTF-8");
  CHECK_THROWS_WITH(small.encode("a\xC0\xAF", false), "text: byte 1 (0xc0) is not valid UTF-8");
  CHECK_THROWS_WITH(small.encode("12345678\xE2\x82", false),
                    "text: byte 8 (0xe2) is not valid UTF-8");
}

TEST_CASE("tokenizer: a SentencePiece style file marks spaces and frames the text",
          "[tokenizers]") {
  const Tokenizer small = test::open(test::sentence_piece_file({"▁ a", "b c"}));
  CHECK(small.encode("a bc", false) == Ids{264, 258, 265});
  CHECK(small.encode("a bc", true) == Ids{1, 264, 258, 265});
  CHECK(small.encode("", true) == Ids{1});
}

TEST_CASE("tokenizer: byte fallback spells characters that have no entry", "[tokenizers]") {
  auto file = test::sentence_piece_file({});
  CHECK(test::open(file).encode("\u00e9", false) == Ids{258, 2 + 0xC3, 2 + 0xA9});
  file["model"]["byte_fallback"] = false;
  CHECK(test::open(file).encode("xyaz", false) == Ids{258, 0, 259, 0});
  file["model"]["fuse_unk"] = false;
  CHECK(test::open(file).encode("xyaz", false) == Ids{258, 0, 0, 259, 0});
}

TEST_CASE("tokenizer: ignore_merges prefers whole words that no merge reaches", "[tokenizers]") {
  auto file = test::byte_level_file({"a b"});
  file["model"]["vocab"]["Ġabc"] = 257;
  CHECK(test::open(file).encode(" abc", false) == Ids{' ', 256, 'c'});
  file["model"]["ignore_merges"] = true;
  CHECK(test::open(file).encode(" abc", false) == Ids{257});
  CHECK(test::open(file).encode("abc", false) == Ids{256, 'c'});
}

TEST_CASE("tokenizer: two tokenizers on one thread do not share words", "[tokenizers]") {
  const Tokenizer merging = test::open(test::byte_level_file({"a b"}));
  const Tokenizer plain = test::open(test::byte_level_file({}));
  for (int i = 0; i < 2; ++i) {
    CHECK(merging.encode("ab", false) == Ids{256});
    CHECK(plain.encode("ab", false) == Ids{'a', 'b'});
  }
}

TEST_CASE("tokenizer: texts longer than a cached word or a short merge agree", "[tokenizers]") {
  const Tokenizer small = test::open(test::byte_level_file({"a b", "ab ab", "abab abab"}));
  for (const size_t repeats : {3, 12, 20, 21, 1000}) {
    std::string text;
    for (size_t i = 0; i < repeats; ++i) {
      text += "ab";
    }
    Ids expected(repeats / 4, 258);
    if (repeats % 4 >= 2) {
      expected.push_back(257);
    }
    if (repeats % 2 == 1) {
      expected.push_back(256);
    }
    INFO(repeats);
    CHECK(small.encode(text, false) == expected);
  }
}

}  // namespace quench::tokenizers
