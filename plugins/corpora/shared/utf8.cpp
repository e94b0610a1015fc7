#include "corpora/shared/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace quench::corpora {

namespace {

// The length of the valid character that starts at `at`, or 0 if there is none (Unicode, table
// 3-7).
size_t character_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const auto continues = [&](size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return continues(1) ? 2 : 0;
  }
  if ((lead & 0xF0u) == 0xE0u) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;   // lower would be overlong
    const unsigned high = lead == 0xED ? 0x9F : 0xBF;  // higher would be a surrogate
    return byte(1) >= low && byte(1) <= high && continues(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;  // higher would be past U+10FFFF
    return byte(1) >= low && byte(1) <= high && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

size_t first_invalid_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight = 0;
    if (at + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080u) == 0) {  // eight ASCII characters
        at += sizeof eight;
        continue;
      }
    }
    const size_t length = character_length(text, at);
    if (length == 0) {
      return at;
    }
    at += length;
  }
  return std::string_view::npos;
}

}  // namespace quench::corpora
