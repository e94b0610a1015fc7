// Reads the header of a file from front to back.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "formats/gguf/bytes.hpp"

namespace quench::gguf {

// Every function throws kit::Error(DATA_LOSS) with file and offset when fewer bytes are left than
// it takes; `what` names the thing for that message. Nothing is allocated before its bytes are
// known to be there.
class Cursor {
 public:
  explicit Cursor(const Bytes& bytes) : bytes_(&bytes) {}

  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_->size() - offset_; }

  // Numbers are little-endian.
  template <typename T>
  T number(const char* what) {
    static_assert(std::is_arithmetic_v<T> && std::endian::native == std::endian::little);
    T value{};
    take(sizeof value, &value, what);
    return value;
  }
  // The next `count` bytes.
  std::string text(uint64_t count, const char* what);
  // Goes on behind `count` bytes.
  void skip(uint64_t count, const char* what);
  // Throws DATA_LOSS: "FILE: offset N: MESSAGE", with the place where the last thing began.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  void require(uint64_t count, const char* what);
  void take(uint64_t count, void* destination, const char* what);

  const Bytes* bytes_;
  uint64_t offset_ = 0;
  uint64_t began_ = 0;             // where the last thing began
  std::vector<std::byte> buffer_;  // the bytes of the file from buffer_offset_ on
  uint64_t buffer_offset_ = 0;
};

// Throws DATA_LOSS: "FILE: offset N: MESSAGE".
[[noreturn]] void fail_at(const Bytes& bytes, uint64_t offset, const std::string& message);

// Text out of a file, for a message: at most 60 bytes, other than printable ASCII as '?'.
std::string shown(const std::string& text);

}  // namespace quench::gguf
