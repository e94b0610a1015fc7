// https://protobuf.dev/programming-guides/encoding
#include "tokenizers/sentencepiece/wire_reader.hpp"

#include <cstring>

namespace quench::tokenizers {

uint32_t WireReader::next() {
  field_begin_ = at_ == message_.size() ? 0 : at_;
  if (at_ == message_.size()) {
    return 0;
  }
  const uint64_t tag = take_varint();
  const uint64_t field = tag >> 3;
  wire_ = static_cast<uint8_t>(tag & 7);
  if (field == 0 || field >= uint64_t{1} << 29) {
    reject("field number {}, wanted 1 to {}", field, (1 << 29) - 1);
  }
  field_ = static_cast<uint32_t>(field);
  return field_;
}

uint64_t WireReader::take_varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at_ == message_.size()) {
      reject("a number is cut off by the end");
    }
    const auto byte = static_cast<unsigned char>(message_[at_++]);
    if (shift == 63 && byte > 1) {
      reject("a number has more than 64 bits");
    }
    value |= uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) {
      return value;
    }
  }
  reject("a number has more than 10 bytes");
}

std::string_view WireReader::take(uint64_t bytes) {
  if (bytes > message_.size() - at_) {
    reject("field {} has {} bytes, {} are left", field_, bytes, message_.size() - at_);
  }
  const std::string_view taken = message_.substr(at_, bytes);
  at_ += bytes;
  return taken;
}

void WireReader::expect(Wire wire) const {
  if (wire_ != static_cast<uint8_t>(wire)) {
    reject("field {} has wire type {}, wanted {}", field_, wire_, static_cast<int>(wire));
  }
}

uint64_t WireReader::varint() {
  expect(Wire::varint);
  return take_varint();
}

float WireReader::float32() {
  expect(Wire::fixed32);
  float value = 0;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}

std::string_view WireReader::bytes() {
  expect(Wire::bytes);
  return take(take_varint());
}

WireReader WireReader::message() {
  const std::string_view inner = bytes();
  return {inner, where_, file_offset_ + at_ - inner.size()};
}

void WireReader::skip() {
  switch (wire_) {
    case static_cast<uint8_t>(Wire::varint):
      take_varint();
      return;
    case static_cast<uint8_t>(Wire::fixed64):
      take(8);
      return;
    case static_cast<uint8_t>(Wire::bytes):
      take(take_varint());
      return;
    case static_cast<uint8_t>(Wire::fixed32):
      take(4);
      return;
    default:
      reject("field {} has wire type {}, which no tokenizer.model has", field_, wire_);
  }
}

}  // namespace quench::tokenizers
