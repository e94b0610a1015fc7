// The character classes that the patterns of tokenizers ask for.
#pragma once

#include <array>
#include <cstdint>

namespace quench::tokenizers {

enum class CharacterClass : uint8_t { other, letter, number, space };

// \p{L}, \p{N}, \s (the Unicode property White_Space) or none of them.
CharacterClass classify_beyond_ascii(char32_t code);

inline constexpr std::array<CharacterClass, 128> kAsciiClass = [] {
  std::array<CharacterClass, 128> table{};
  for (char32_t c = 0; c < 128; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool number = c >= '0' && c <= '9';
    const bool space = c == ' ' || (c >= 9 && c <= 13);
    table[c] = letter   ? CharacterClass::letter
               : number ? CharacterClass::number
               : space  ? CharacterClass::space
                        : CharacterClass::other;
  }
  return table;
}();

inline CharacterClass classify(char32_t code) {
  return code < 128 ? kAsciiClass[code] : classify_beyond_ascii(code);
}

inline bool is_space(char32_t code) {
  return classify(code) == CharacterClass::space;
}

// \w of Unicode TR 18: Alphabetic, M, Nd, Pc and Join_Control.
bool is_word_character(char32_t code);

}  // namespace quench::tokenizers
