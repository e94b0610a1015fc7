#include "report/export/wandb_log.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "report/export/protobuf.hpp"

namespace quench {

namespace {

constexpr size_t kBlock = 32768;
constexpr size_t kPieceHeader = 7;

enum Kind : uint8_t { kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

void append_piece(Kind kind, std::string_view bytes, std::string& out) {
  const Bytef first = kind;
  const uLong seed = crc32(0, &first, 1);
  append_little(crc32_z(seed, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()), 4, out);
  append_little(bytes.size(), 2, out);
  append_little(kind, 1, out);
  out += bytes;
}

void append_record(std::string_view record, std::string& out) {
  for (bool first = true; first || !record.empty(); first = false) {
    size_t left = kBlock - out.size() % kBlock;
    if (left < kPieceHeader) {
      out.append(left, '\0');
      left = kBlock;
    }
    const std::string_view bytes = record.substr(0, left - kPieceHeader);
    record.remove_prefix(bytes.size());
    const bool last = record.empty();
    append_piece(first ? (last ? kWhole : kFirst) : (last ? kLast : kMiddle), bytes, out);
  }
}

}  // namespace

std::string wandb_log(std::span<const std::string> records) {
  std::string out = ":W&B";
  append_little(0xBEE1, 2, out);
  append_little(0, 1, out);
  for (const std::string& record : records) {
    append_record(record, out);
  }
  return out;
}

}  // namespace quench
