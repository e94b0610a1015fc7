// GPT-2's alphabet of bytes: each byte has a printable character, so that vocabularies can be text.
// Printable Latin-1 stands for itself, the other 68 bytes are U+0100 to U+0143 in order.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quench::tokenizers {

// The character of a byte, in UTF-8.
std::string byte_character(unsigned char byte);

// The bytes that a valid UTF-8 string of such characters stands for; nothing if it has others.
std::optional<std::string> bytes_of(std::string_view characters);

}  // namespace quench::tokenizers
