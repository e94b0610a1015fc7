// A tokenizer.model byte by byte, right or wrong, without any library that writes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quench::tokenizers::test {

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) {
    out += static_cast<char>(value | 0x80);
  }
  return out + static_cast<char>(value);
}

inline std::string number_field(int field, uint64_t value) {
  return varint(static_cast<uint64_t>(field) << 3) + varint(value);
}

inline std::string bytes_field(int field, std::string_view content) {
  return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(content.size()) +
         std::string(content);
}

inline std::string float_field(int field, float value) {
  return varint(static_cast<uint64_t>(field) << 3 | 5) +
         std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

// Types are 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte.
inline std::string piece(std::string_view text, float score = 0, int type = 1) {
  return bytes_field(1, bytes_field(1, text) + float_field(2, score) +
                            number_field(3, static_cast<uint64_t>(type)));
}

inline std::string trainer(int model_type, const std::string& more = "") {
  return bytes_field(2, number_field(3, static_cast<uint64_t>(model_type)) + more);
}

// The identity: nothing added, nothing removed.
inline std::string plain_normalizer(const std::string& more = "") {
  return bytes_field(3, number_field(3, 0) + number_field(4, 0) + more);
}

inline constexpr int kUnigram = 1;
inline constexpr int kBpe = 2;

}  // namespace quench::tokenizers::test
