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

// length (8 bytes), its checksum, the data, its checksum; checksums rotated by 15 bits and moved by
// a constant, as TFRecord has them.
std::string tfrecord(std::string_view data);

// The whole content of an event file with these points as scalars. Values become float32, which is
// what the format's scalars are. All times are 0, so the same points make the same bytes.
std::string event_file(std::span<const TrackedPoint> points);

}  // namespace quench
