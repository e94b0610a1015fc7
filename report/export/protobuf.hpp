// The part of protocol buffers' wire format that the exported formats need: appends fields to a
// message. Wire types 0 (varint), 1 (64 bits), 2 (bytes: texts and messages), 5 (32 bits).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quench {

// The lowest `bytes` bytes of a value, lowest first.
void append_little(uint64_t value, int bytes, std::string& out);

void append_integer_field(uint32_t field, int64_t value, std::string& message);
void append_float_field(uint32_t field, float value, std::string& message);
void append_double_field(uint32_t field, double value, std::string& message);
// Appends a text, or a complete message.
void append_bytes_field(uint32_t field, std::string_view bytes, std::string& message);

}  // namespace quench
