// The control socket of a worker: packets of text with descriptors attached, in order, whole.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/io/descriptor.hpp"

namespace quench {

constexpr size_t kLargestPacket = size_t{1} << 20;  // bytes of text
constexpr size_t kMostDescriptors = 16;             // of one packet

struct Packet {
  std::string text;
  std::vector<Descriptor> descriptors;  // closed on exec
};

struct ControlSockets {
  Descriptor host;
  Descriptor worker;
};

// Two ends, both closed on exec, above the descriptors that a child is given. Each takes packets of
// kLargestPacket where the system's net.core.wmem_max allows; without, some 400 KiB. Throws
// Error(RESOURCE_EXHAUSTED).
ControlSockets make_control_sockets();

// Sends one packet; waits while the other side does not read what it has. The caller keeps its
// `descriptors`. Throws Error: INVALID_ARGUMENT for a packet without text or beyond the limits
// above, RESOURCE_EXHAUSTED for one that the system does not carry, UNAVAILABLE when the other side
// has closed.
void send_packet(int socket, std::string_view text, std::span<const int> descriptors = {});

// Waits for a packet, at most `timeout_ms` (negative: for ever). Nothing: the other side has closed
// the socket, or ended. Throws Error: UNAVAILABLE when the time is over, DATA_LOSS for a packet
// beyond the limits above; the socket is then of no more use.
std::optional<Packet> receive_packet(int socket, int timeout_ms);

}  // namespace quench
