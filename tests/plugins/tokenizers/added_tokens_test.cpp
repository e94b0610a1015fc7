#include <catch2/catch.hpp>

#include "tests/plugins/tokenizers/small_tokenizers.hpp"
#include "tokenizers/tokenizer_json/added_tokens.hpp"

namespace quench::tokenizers {

using test::Ids;

namespace {

// A file whose added tokens have these contents and these flags set, with ids from 256 on.
Tokenizer with_tokens(const std::vector<std::pair<std::string, std::vector<std::string>>>& tokens) {
  auto file = test::byte_level_file({});
  int id = 256;
  for (const auto& [content, flags] : tokens) {
    auto token = test::added_token(id++, content);
    for (const std::string& flag : flags) {
      token[flag] = true;
    }
    file["added_tokens"].push_back(token);
  }
  return test::open(file);
}

}  // namespace

TEST_CASE("added tokens: the leftmost wins, and of those the longest", "[tokenizers]") {
  const Tokenizer small =
      with_tokens({{"<a>", {}}, {"<a><b>", {}}, {"><", {}}, {"  ", {}}, {"   ", {}}});
  CHECK(small.encode("<a><b>", false) == Ids{257});
  CHECK(small.encode("<a><c", false) == Ids{256, '<', 'c'});
  CHECK(small.encode("x><", false) == Ids{'x', 258});
  CHECK(small.encode("a     b", false) == Ids{'a', 260, 259, 'b'});
  CHECK(small.encode("<a", false) == Ids{'<', 'a'});
  CHECK(small.vocabulary_size() == 261);
}

TEST_CASE("added tokens: of one byte are found, also at the end", "[tokenizers]") {
  const Tokenizer small = with_tokens({{"\t", {}}});
  CHECK(small.encode("\ta\t", false) == Ids{256, 'a', 256});
}

TEST_CASE("added tokens: strip takes white space of all kinds", "[tokenizers]") {
  const Tokenizer small = with_tokens({{"<l>", {"lstrip"}}, {"<r>", {"rstrip"}}});
  CHECK(small.encode("a \u3000<l> b", false) == Ids{'a', 256, ' ', 'b'});
  CHECK(small.encode("a <r> \n\u00a0b", false) == Ids{'a', ' ', 257, 'b'});
  CHECK(small.encode("<r>  <l>", false) == Ids{257, 256});
}

TEST_CASE("added tokens: a single word touches no word character", "[tokenizers]") {
  const Tokenizer small = with_tokens({{"be", {"single_word"}}});
  CHECK(small.encode("be", false) == Ids{256});
  CHECK(small.encode("-be.", false) == Ids{'-', 256, '.'});
  CHECK(small.encode("bee", false) == Ids{'b', 'e', 'e'});
  CHECK(small.encode("\u00e9be", false) == Ids{0xC3, 0xA9, 'b', 'e'});
  CHECK(small.encode("_be", false) == Ids{'_', 'b', 'e'});
}

TEST_CASE("added tokens: normalized ones are found in normalized text only", "[tokenizers]") {
  const Tokenizer small = with_tokens({{"\u1ea1", {"normalized"}}, {"\u1eb9", {}}});
  CHECK(small.encode("a\u0323", false) == Ids{256});
  CHECK(small.encode("e\u0323", false) == Ids{0xE1, 0xBA, 0xB9});
  CHECK(small.encode("\u1eb9", false) == Ids{257});
}

TEST_CASE("added tokens: those of the first pass come before those of the second", "[tokenizers]") {
  const Tokenizer small = with_tokens({{"ab", {"normalized"}}, {"bc", {}}});
  CHECK(small.encode("abc", false) == Ids{'a', 257});
  CHECK(small.encode("abab", false) == Ids{256, 256});
}

TEST_CASE("added tokens: their contents are normalized with their text", "[tokenizers]") {
  auto file = test::sentence_piece_file({});
  file["added_tokens"].push_back(test::added_token(264, "d e"));
  file["added_tokens"][0]["normalized"] = true;
  const Tokenizer small = test::open(file);
  // The content has become "▁d▁e".
  CHECK(small.encode("d e", false) == Ids{264});
  CHECK(small.encode("ad e", false) == Ids{258, 259, 262, 258, 263});
}

TEST_CASE("added tokens: a token of the vocabulary keeps its id", "[tokenizers]") {
  auto file = test::byte_level_file({"a b"});
  file["added_tokens"].push_back(test::added_token(256, "ab"));
  CHECK(test::open(file).encode("xaby", false) == Ids{'x', 256, 'y'});
  CHECK(test::open(file).vocabulary_size() == 257);
}

}  // namespace quench::tokenizers
