#include "core/plugin/process/control_socket.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "core/error.hpp"
#include "tests/support/throws.hpp"

using quench::ControlSockets;
using quench::Descriptor;
using quench::make_control_sockets;
using quench::receive_packet;
using quench::send_packet;
using quench::test::code_of;

namespace {

size_t open_descriptors() {
  const std::filesystem::directory_iterator open("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(open), end(open)));
}

}  // namespace

TEST_CASE("control socket: packets arrive whole and in order", "[apart]") {
  const ControlSockets sockets = make_control_sockets();
  send_packet(sockets.host.get(), "first");
  send_packet(sockets.host.get(), std::string("with\0zero", 9));
  CHECK(receive_packet(sockets.worker.get(), -1)->text == "first");
  CHECK(receive_packet(sockets.worker.get(), 1000)->text == std::string("with\0zero", 9));
  send_packet(sockets.worker.get(), "back");
  const auto back = receive_packet(sockets.host.get(), 0);
  REQUIRE(back);
  CHECK(back->text == "back");
  CHECK(back->descriptors.empty());
}

TEST_CASE("control socket: its ends lie above a child's streams and are closed on exec",
          "[apart]") {
  const ControlSockets sockets = make_control_sockets();
  for (const Descriptor* end : {&sockets.host, &sockets.worker}) {
    CHECK(end->get() >= 10);
    CHECK((::fcntl(end->get(), F_GETFD) & FD_CLOEXEC) != 0);
  }
}

TEST_CASE("control socket: descriptors come across as copies that are closed on exec", "[apart]") {
  const ControlSockets sockets = make_control_sockets();
  const Descriptor memory(::memfd_create("memory", MFD_CLOEXEC));
  REQUIRE(::write(memory.get(), "content", 7) == 7);
  const std::array<int, 2> sent = {memory.get(), memory.get()};
  send_packet(sockets.host.get(), "here", sent);
  const auto packet = receive_packet(sockets.worker.get(), 1000);
  REQUIRE(packet);
  REQUIRE(packet->descriptors.size() == 2);
  for (const Descriptor& each : packet->descriptors) {
    CHECK(each.get() != memory.get());
    CHECK((::fcntl(each.get(), F_GETFD) & FD_CLOEXEC) != 0);
    char bytes[8] = {};
    CHECK(::pread(each.get(), bytes, 7, 0) == 7);
    CHECK(std::string(bytes) == "content");
  }
}

TEST_CASE("control socket: the end is no packet, and an error for who sends", "[apart]") {
  ControlSockets sockets = make_control_sockets();
  send_packet(sockets.worker.get(), "last words");
  sockets.worker.reset();
  CHECK(receive_packet(sockets.host.get(), -1)->text == "last words");
  CHECK_FALSE(receive_packet(sockets.host.get(), -1));
  CHECK(code_of([&] { send_packet(sockets.host.get(), "hello"); }) == QUENCH_UNAVAILABLE);
}

TEST_CASE("control socket: a side that ends without reading is a closed one", "[apart]") {
  ControlSockets sockets = make_control_sockets();
  send_packet(sockets.host.get(), "never read");
  sockets.worker.reset();
  CHECK_FALSE(receive_packet(sockets.host.get(), -1));
}

TEST_CASE("control socket: waiting has an end", "[apart]") {
  const ControlSockets sockets = make_control_sockets();
  CHECK(code_of([&] { receive_packet(sockets.host.get(), 10); }) == QUENCH_UNAVAILABLE);
  CHECK(code_of([&] { receive_packet(sockets.host.get(), 0); }) == QUENCH_UNAVAILABLE);
}

TEST_CASE("control socket: packets beyond the limits are refused by who sends", "[apart]") {
  const ControlSockets sockets = make_control_sockets();
  const auto send = [&](size_t bytes, size_t descriptors) {
    const std::vector<int> sent(descriptors, sockets.host.get());
    return code_of([&] { send_packet(sockets.host.get(), std::string(bytes, 'x'), sent); });
  };
  CHECK(send(0, 0) == QUENCH_INVALID_ARGUMENT);
  CHECK(send(quench::kLargestPacket + 1, 0) == QUENCH_INVALID_ARGUMENT);
  CHECK(send(1, quench::kMostDescriptors + 1) == QUENCH_INVALID_ARGUMENT);
  CHECK(send(1, quench::kMostDescriptors) == QUENCH_OK);
  CHECK(receive_packet(sockets.worker.get(), 0)->descriptors.size() == quench::kMostDescriptors);
}

TEST_CASE("control socket: a packet of the largest size arrives, or the system is named",
          "[apart]") {
  const ControlSockets sockets = make_control_sockets();
  const std::string large(quench::kLargestPacket, 'x');
  try {
    send_packet(sockets.host.get(), large);
  } catch (const quench::Error& error) {
    CHECK(error.code() == QUENCH_RESOURCE_EXHAUSTED);
    CHECK_THAT(error.what(), Catch::Contains("net.core.wmem_max"));
    return;
  }
  CHECK((receive_packet(sockets.worker.get(), 1000)->text == large));
}

// A worker of another language may send what send_packet would not.
TEST_CASE("control socket: packets beyond the limits are data loss, and leave nothing open",
          "[apart]") {
  const ControlSockets sockets = make_control_sockets();
  const size_t before = open_descriptors();
  constexpr size_t kSent = quench::kMostDescriptors + 5;
  std::vector<int> numbers(kSent, sockets.host.get());
  std::vector<char> control(CMSG_SPACE(sizeof(int) * kSent));
  char byte = 'x';
  iovec content{&byte, 1};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(int) * kSent);
  std::memcpy(CMSG_DATA(part), numbers.data(), sizeof(int) * kSent);
  REQUIRE(::sendmsg(sockets.worker.get(), &message, 0) == 1);
  CHECK(code_of([&] { receive_packet(sockets.host.get(), 1000); }) == QUENCH_DATA_LOSS);
  CHECK(open_descriptors() == before);

  const std::string large(quench::kLargestPacket + 1, 'x');
  if (::send(sockets.worker.get(), large.data(), large.size(), 0) > 0) {
    CHECK(code_of([&] { receive_packet(sockets.host.get(), 1000); }) == QUENCH_DATA_LOSS);
  }
}
