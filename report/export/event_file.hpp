// TensorBoard's event files: TFRecord frames around Event messages of protocol buffers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "report/export/tracked_lines.hpp"

namespace quench {

// CRC-32C (Castagnoli, RFC 3720).
uint32_t crc32c(std::string_view bytes);

// Length (8 bytes), its checksum, the data, its checksum. TFRecord rotates checksums by 15 bits and
// adds a constant.
std::string tfrecord(std::string_view data);

// An event file with these points as scalars. Values become float32, the format's type for scalars.
// All times are 0, so the same points give the same bytes.
std::string event_file(std::span<const TrackedPoint> points);

}  // namespace quench
