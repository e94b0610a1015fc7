#include "tokenizers/shared/utf8.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "tokenizers/tokenizer_json/byte_alphabet.hpp"
#include "tokenizers/tokenizer_json/character_class.hpp"

namespace quench::tokenizers {

TEST_CASE("utf8: every code point is valid and comes back", "[tokenizers]") {
  std::vector<uint32_t> wrong;
  for (char32_t code = 0; code <= 0x10FFFF && wrong.size() < 10; ++code) {
    std::string text;
    append_utf8(code, text);
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    size_t end = 0;
    if ((first_invalid_utf8(text) == std::string_view::npos) == surrogate ||
        (!surrogate && (decode(text, end) != code || end != text.size()))) {
      wrong.push_back(static_cast<uint32_t>(code));
    }
  }
  CHECK(wrong == std::vector<uint32_t>{});
}

TEST_CASE("utf8: the first bad byte is found wherever it is", "[tokenizers]") {
  for (const std::string bad :
       {"\x80", "\xC1\x80", "\xE0\x9F\x80", "\xF0\x8F\x80\x80", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xE2\x82", "\xF0\x9F\x98"}) {
    for (size_t before = 0; before < 20; ++before) {
      CHECK(first_invalid_utf8(std::string(before, 'a') + bad) == before);
      CHECK(first_invalid_utf8(std::string(before, 'a') + bad + "bcdefghijk") == before);
    }
  }
}

TEST_CASE("byte alphabet: is GPT-2's, there and back", "[tokenizers]") {
  CHECK(byte_character('a') == "a");
  CHECK(byte_character(' ') == "\u0120");
  CHECK(byte_character('\n') == "\u010a");
  CHECK(byte_character(0) == "\u0100");
  CHECK(byte_character(0x7F) == "\u0121");
  CHECK(byte_character(0xAD) == "\u0143");
  CHECK(byte_character(0xFF) == "\u00ff");
  for (int byte = 0; byte < 256; ++byte) {
    const auto value = static_cast<unsigned char>(byte);
    CHECK(bytes_of(byte_character(value)) == std::string(1, static_cast<char>(value)));
  }
  CHECK_FALSE(bytes_of("a b"));
  CHECK_FALSE(bytes_of("\u0144"));
}

TEST_CASE("character classes: follow Unicode", "[tokenizers]") {
  CHECK(classify(U'\u4e2d') == CharacterClass::letter);
  CHECK(classify(U'\u00bd') == CharacterClass::number);
  CHECK(classify(U'\u0301') == CharacterClass::other);
  CHECK(is_space(U'\u0085'));
  CHECK(is_space(U'\u2028'));
  CHECK_FALSE(is_space(U'\u200b'));
  CHECK_FALSE(is_space(U'\u001c'));
  CHECK(is_word_character(U'\u0301'));
  CHECK(is_word_character(U'\u200d'));
  CHECK(is_word_character(U'\u24d0'));
  CHECK_FALSE(is_word_character(U'\u00bd'));
  CHECK_FALSE(is_word_character(U'-'));
}

}  // namespace quench::tokenizers
