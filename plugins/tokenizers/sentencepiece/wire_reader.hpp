// The wire format of protocol buffers: enough of it to read one message with every length checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tokenizers/shared/message.hpp"

namespace quench::tokenizers {

// Goes through the fields of one message. Borrows the bytes. Errors are "WHERE: byte N: what",
// where N is the place in the file of the current field, or of the message once all are read.
class WireReader {
 public:
  WireReader(std::string_view message, std::string where, size_t file_offset = 0)
      : message_(message), where_(std::move(where)), file_offset_(file_offset) {}

  // The number of the next field, 0 at the end. The field must then be read, or skipped.
  uint32_t next();

  // The value of the current field. A field of another wire type is an error.
  uint64_t varint();
  bool boolean() { return varint() != 0; }
  float float32();
  std::string_view bytes();
  WireReader message();
  // Passes over a field that is not asked for; groups are refused.
  void skip();

  template <typename... Args>
  [[noreturn]] void reject(fmt::format_string<Args...> format, Args&&... args) const {
    fail(QUENCH_INVALID_ARGUMENT, "{}: byte {}: {}", where_, file_offset_ + field_begin_,
         fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  enum class Wire : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

  uint64_t take_varint();
  std::string_view take(uint64_t bytes);
  void expect(Wire wire) const;

  std::string_view message_;
  std::string where_;
  size_t file_offset_;
  size_t at_ = 0;
  size_t field_begin_ = 0;
  uint32_t field_ = 0;
  uint8_t wire_ = 0;
};

}  // namespace quench::tokenizers
