// UTF-8 as the tokenizer sees it: validated once at the border, decoded without checks afterwards.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quench::tokenizers {

// The offset of the first byte that is no part of a well-formed sequence (RFC 3629: no surrogates,
// no overlong forms), or std::string_view::npos.
size_t first_invalid_utf8(std::string_view text);

// Bytes of the sequence that `lead` begins. Valid text only.
inline size_t sequence_length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// The code point at `position`, which moves past it. Valid text and position < size only.
inline char32_t decode(std::string_view text, size_t& position) {
  const auto byte = [&](size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[position + i]));
  };
  const char32_t lead = byte(0);
  char32_t code = lead;
  size_t length = 1;
  if (lead >= 0xF0) {
    code = (lead & 7) << 18 | (byte(1) & 63) << 12 | (byte(2) & 63) << 6 | (byte(3) & 63);
    length = 4;
  } else if (lead >= 0xE0) {
    code = (lead & 15) << 12 | (byte(1) & 63) << 6 | (byte(2) & 63);
    length = 3;
  } else if (lead >= 0x80) {
    code = (lead & 31) << 6 | (byte(1) & 63);
    length = 2;
  }
  position += length;
  return code;
}

// Where the code point that ends before `position` (> 0) begins. Valid text only.
inline size_t previous(std::string_view text, size_t position) {
  do {
    --position;
  } while (position > 0 && (static_cast<unsigned char>(text[position]) & 0xC0) == 0x80);
  return position;
}

void append_utf8(char32_t code, std::string& out);

}  // namespace quench::tokenizers
