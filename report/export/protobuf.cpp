#include "report/export/protobuf.hpp"

#include <bit>

namespace quench {

namespace {

void append_varint(uint64_t value, std::string& out) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void append_tag(uint32_t field, uint32_t wire, std::string& out) {
  append_varint(uint64_t{field} << 3 | wire, out);
}

}  // namespace

void append_little(uint64_t value, int bytes, std::string& out) {
  for (int i = 0; i < bytes; ++i) {
    out += static_cast<char>(value >> (8 * i));
  }
}

void append_integer_field(uint32_t field, int64_t value, std::string& message) {
  append_tag(field, 0, message);
  append_varint(static_cast<uint64_t>(value), message);
}

void append_float_field(uint32_t field, float value, std::string& message) {
  append_tag(field, 5, message);
  append_little(std::bit_cast<uint32_t>(value), 4, message);
}

void append_double_field(uint32_t field, double value, std::string& message) {
  append_tag(field, 1, message);
  append_little(std::bit_cast<uint64_t>(value), 8, message);
}

void append_bytes_field(uint32_t field, std::string_view bytes, std::string& message) {
  append_tag(field, 2, message);
  append_varint(bytes.size(), message);
  message += bytes;
}

}  // namespace quench
