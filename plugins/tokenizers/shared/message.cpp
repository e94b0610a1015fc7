#include "tokenizers/shared/message.hpp"

#include "tokenizers/shared/utf8.hpp"

namespace quench::tokenizers {

std::string printable(std::string_view text, size_t limit) {
  std::string out;
  size_t at = 0;
  while (at < text.size() && out.size() < limit) {
    const size_t length = std::min(sequence_length(text[at]), text.size() - at);
    const std::string_view character = text.substr(at, length);
    if (first_invalid_utf8(character) != std::string_view::npos) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at++]));
      continue;
    }
    size_t position = 0;
    const char32_t code = decode(character, position);
    if (code < 0x20 || (code >= 0x7F && code < 0xA0)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(code));
    } else {
      out += character;
    }
    at += length;
  }
  return at < text.size() ? out + "..." : out;
}

}  // namespace quench::tokenizers
