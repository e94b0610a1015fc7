#include "formats/gguf/cursor.hpp"

#include <algorithm>

#include "quench/kit/error.hpp"

namespace quench::gguf {

namespace {

constexpr uint64_t kBufferBytes = uint64_t{64} << 10;

}  // namespace

void fail_at(const Bytes& bytes, uint64_t offset, const std::string& message) {
  throw kit::Error(QUENCH_DATA_LOSS,
                   bytes.name() + ": offset " + std::to_string(offset) + ": " + message);
}

std::string shown(const std::string& text) {
  constexpr size_t kShown = 60;
  std::string out = text.substr(0, kShown);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > kShown ? out + "..." : out;
}

void Cursor::fail(const std::string& message) const {
  fail_at(*bytes_, began_, message);
}

std::string Cursor::text(uint64_t count, const char* what) {
  require(count, what);
  std::string out(count, '\0');
  take(count, out.data(), what);
  return out;
}

void Cursor::skip(uint64_t count, const char* what) {
  require(count, what);
  offset_ += count;
}

void Cursor::require(uint64_t count, const char* what) {
  began_ = offset_;
  if (count > remaining()) {
    fail(std::string(what) + ": wanted " + std::to_string(count) + " bytes, the file has " +
         std::to_string(remaining()) + " more");
  }
}

void Cursor::take(uint64_t count, void* destination, const char* what) {
  require(count, what);
  auto* to = static_cast<std::byte*>(destination);
  while (count > 0) {
    if (offset_ < buffer_offset_ || offset_ >= buffer_offset_ + buffer_.size()) {
      buffer_.resize(std::min(kBufferBytes, remaining()));
      buffer_offset_ = offset_;
      bytes_->read(offset_, buffer_.size(), buffer_.data());
    }
    const uint64_t at = offset_ - buffer_offset_;
    const uint64_t now = std::min(count, buffer_.size() - at);
    std::memcpy(to, buffer_.data() + at, now);
    to += now;
    offset_ += now;
    count -= now;
  }
}

}  // namespace quench::gguf
