#include "report/export/event_file.hpp"

#include <array>
#include <bit>

#include "report/export/protobuf.hpp"

namespace quench {

namespace {

// Event: wall_time = 1 (double), step = 2 (int64), file_version = 3 (string), summary = 5.
std::string version_event() {
  std::string event;
  append_double_field(1, 0, event);
  append_bytes_field(3, "brain.Event:2", event);
  return event;
}

// Summary: value = 1 (repeated). Value: tag = 1 (string), simple_value = 2 (float).
std::string scalar_event(const TrackedPoint& point) {
  std::string value;
  append_bytes_field(1, point.tag, value);
  append_float_field(2, static_cast<float>(point.value), value);
  std::string summary;
  append_bytes_field(1, value, summary);
  std::string event;
  append_double_field(1, 0, event);
  append_integer_field(2, point.step, event);
  append_bytes_field(5, summary, event);
  return event;
}

constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    }
    table[i] = crc;
  }
  return table;
}

uint32_t masked(uint32_t crc) {
  return std::rotr(crc, 15) + 0xA282EAD8U;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = crc_table();
  uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc = crc >> 8 ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  }
  return ~crc;
}

std::string tfrecord(std::string_view data) {
  std::string out;
  append_little(data.size(), 8, out);
  append_little(masked(crc32c(out)), 4, out);
  out += data;
  append_little(masked(crc32c(data)), 4, out);
  return out;
}

std::string event_file(std::span<const TrackedPoint> points) {
  std::string out = tfrecord(version_event());
  for (const TrackedPoint& point : points) {
    out += tfrecord(scalar_event(point));
  }
  return out;
}

}  // namespace quench
