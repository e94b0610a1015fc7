#include "core/plugin/process/control_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include "core/error.hpp"

namespace quench {

namespace {

using Clock = std::chrono::steady_clock;

// Room for the descriptors of one packet, aligned as the kernel wants it.
struct alignas(cmsghdr) Attachment {
  std::array<char, CMSG_SPACE(sizeof(int) * kMostDescriptors)> bytes{};
};

std::string reason(int number) {
  return std::generic_category().message(number);
}

// The same socket under a number that no stream of a child has.
Descriptor above_streams(int number) {
  constexpr int kFirst = 10;
  const Descriptor given(number);
  Descriptor moved(fcntl(number, F_DUPFD_CLOEXEC, kFirst));
  if (!moved) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "control socket: no descriptor is left: {}", reason(errno));
  }
  return moved;
}

// The kernel refuses a packet that is larger than the sender's buffer, of which it takes some for
// itself.
void widen(int socket) {
  const int wanted = static_cast<int>(2 * kLargestPacket);
  if (setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &wanted, sizeof wanted) != 0) {
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &wanted, sizeof wanted);  // as far as users may
  }
}

void check_sendable(std::string_view text, std::span<const int> descriptors) {
  if (text.empty() || text.size() > kLargestPacket) {
    fail(QUENCH_INVALID_ARGUMENT, "control socket: a packet of {} bytes, wanted 1 to {}",
         text.size(), kLargestPacket);
  }
  if (descriptors.size() > kMostDescriptors) {
    fail(QUENCH_INVALID_ARGUMENT, "control socket: {} descriptors in one packet, wanted at most {}",
         descriptors.size(), kMostDescriptors);
  }
}

[[noreturn]] void fail_to_send(int number, size_t bytes) {
  if (number == EPIPE || number == ECONNRESET) {
    fail(QUENCH_UNAVAILABLE, "control socket: the other side has closed it");
  }
  if (number == EMSGSIZE) {
    fail(QUENCH_RESOURCE_EXHAUSTED,
         "control socket: the system carries no packet of {} bytes (net.core.wmem_max)", bytes);
  }
  fail(QUENCH_RESOURCE_EXHAUSTED, "control socket: sending {} bytes failed: {}", bytes,
       reason(number));
}

[[noreturn]] void fail_to_receive(int number) {
  fail(QUENCH_DATA_LOSS, "control socket: receiving failed: {}", reason(number));
}

// Waits until something can be received or the other side has closed.
void wait_for_packet(int socket, int timeout_ms) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(std::max(timeout_ms, 0));
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd one{socket, POLLIN, 0};
    const int ready =
        poll(&one, 1, timeout_ms < 0 ? -1 : static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready > 0) {
      return;
    }
    if (ready == 0) {
      fail(QUENCH_UNAVAILABLE, "control socket: no packet within {} ms", timeout_ms);
    }
    if (errno != EINTR) {
      fail_to_receive(errno);
    }
  }
}

// recvmsg, again after a signal. A side that ends before it has read all that was sent to it leaves
// ECONNRESET: closed, like 0.
ssize_t receive(int socket, msghdr& message, int flags) {
  for (;;) {
    const ssize_t got = recvmsg(socket, &message, flags);
    if (got >= 0 || errno == ECONNRESET) {
      return std::max<ssize_t>(got, 0);
    }
    if (errno != EINTR) {
      fail_to_receive(errno);
    }
  }
}

// Takes over what is attached, so that it is closed whatever comes.
std::vector<Descriptor> attached(msghdr& message) {
  std::vector<Descriptor> out;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof number, sizeof number);
      out.emplace_back(number);
    }
  }
  return out;
}

}  // namespace

ControlSockets make_control_sockets() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "control socket: it cannot be made: {}", reason(errno));
  }
  Descriptor second(ends[1]);
  ControlSockets out;
  out.host = above_streams(ends[0]);
  out.worker = above_streams(second.release());
  widen(out.host.get());
  widen(out.worker.get());
  return out;
}

void send_packet(int socket, std::string_view text, std::span<const int> descriptors) {
  check_sendable(text, descriptors);
  iovec content{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  Attachment attachment;
  if (!descriptors.empty()) {
    message.msg_control = attachment.bytes.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
  }
  while (sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) {
      fail_to_send(errno, text.size());
    }
  }
}

std::optional<Packet> receive_packet(int socket, int timeout_ms) {
  wait_for_packet(socket, timeout_ms);
  msghdr message{};
  // A look at the length first: a buffer for the largest would be cleared for each.
  const auto length = static_cast<size_t>(receive(socket, message, MSG_PEEK | MSG_TRUNC));
  if (length == 0) {
    return std::nullopt;
  }
  if (length > kLargestPacket) {
    fail(QUENCH_DATA_LOSS, "control socket: a packet of {} bytes, wanted at most {}", length,
         kLargestPacket);
  }
  Packet out;
  out.text.resize(length);
  iovec content{out.text.data(), length};
  Attachment attachment;
  message = {};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = attachment.bytes.data();
  message.msg_controllen = attachment.bytes.size();
  const auto got = static_cast<size_t>(receive(socket, message, MSG_CMSG_CLOEXEC));
  out.descriptors = attached(message);
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    fail(QUENCH_DATA_LOSS,
         "control socket: a packet with more than {} descriptors, or more than this process may "
         "open",
         kMostDescriptors);
  }
  if (got != length) {
    fail(QUENCH_DATA_LOSS, "control socket: a packet of {} bytes, of which {} arrived", length,
         got);
  }
  return out;
}

}  // namespace quench
