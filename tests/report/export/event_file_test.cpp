#include "report/export/event_file.hpp"

#include <catch2/catch.hpp>

namespace quench::test {

namespace {

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    out += kDigits[static_cast<unsigned char>(byte) >> 4];
    out += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return out;
}

}  // namespace

TEST_CASE("event file: the checksum is that of RFC 3720", "[core][export]") {
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xE3069283U);
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAU);
  CHECK(crc32c(std::string(32, '\xFF')) == 0x62A8AB43U);
}

TEST_CASE("event file: a frame has length, checksum, data, checksum", "[core][export]") {
  const std::string record = tfrecord("abc");
  REQUIRE(record.size() == 8 + 4 + 3 + 4);
  CHECK(hex(record.substr(0, 8)) == "0300000000000000");
  CHECK(record.substr(12, 3) == "abc");
}

TEST_CASE("event file: starts with its version, then one event for each value", "[core][export]") {
  const std::vector<TrackedPoint> points = {{"loss", 300, 1.5}};
  const std::string file = event_file(points);
  const std::string version = tfrecord(std::string("\x09", 1) + std::string(8, '\0') +
                                       "\x1a\x0d"
                                       "brain.Event:2");
  REQUIRE(file.starts_with(version));
  // wall_time 0, step 300 as a varint, summary { value { tag: "loss", simple_value: 1.5 } }
  const std::string event = file.substr(version.size() + 12, file.size() - version.size() - 16);
  CHECK(hex(event) ==
        "090000000000000000"
        "10ac02"
        "2a0d"
        "0a0b"
        "0a046c6f7373"
        "150000c03f");
  CHECK(event_file(points) == file);
}

}  // namespace quench::test
