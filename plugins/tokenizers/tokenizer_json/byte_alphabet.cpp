#include "tokenizers/tokenizer_json/byte_alphabet.hpp"

#include <array>

#include "tokenizers/shared/utf8.hpp"

namespace quench::tokenizers {

namespace {

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr size_t kCharacters = 0x100 + 68;

constexpr std::array<int16_t, kCharacters> kByteOf = [] {
  std::array<int16_t, kCharacters> table{};
  table.fill(-1);
  size_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    table[stands_for_itself(byte) ? static_cast<size_t>(byte) : next++] =
        static_cast<int16_t>(byte);
  }
  return table;
}();

}  // namespace

std::string byte_character(unsigned char byte) {
  std::string character;
  for (size_t code = 0; code < kCharacters; ++code) {
    if (kByteOf[code] == byte) {
      append_utf8(static_cast<char32_t>(code), character);
    }
  }
  return character;
}

std::optional<std::string> bytes_of(std::string_view characters) {
  std::string bytes;
  bytes.reserve(characters.size());
  for (size_t i = 0; i < characters.size();) {
    const char32_t code = decode(characters, i);
    if (code >= kCharacters || kByteOf[code] < 0) {
      return std::nullopt;
    }
    bytes += static_cast<char>(kByteOf[code]);
  }
  return bytes;
}

}  // namespace quench::tokenizers
