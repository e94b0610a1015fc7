// UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing past U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quench::corpora {

// The offset of the first byte that is not valid UTF-8, or npos.
size_t first_invalid_utf8(std::string_view text);

// Whether a byte continues a character; a text must not be cut before such a byte.
inline bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u;
}

}  // namespace quench::corpora
