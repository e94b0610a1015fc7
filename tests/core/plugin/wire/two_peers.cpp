#include "tests/core/plugin/wire/two_peers.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace quench::test {

void SidePeer::open(Descriptor socket, std::unique_ptr<wire::OwnMemory> own, Descriptor theirs) {
  socket_ = socket.get();
  channel_ = std::make_unique<wire::Channel>(
      std::move(socket), std::move(own), std::move(theirs),
      [this](wire::Channel& over, const wire::Header& header, wire::Reader& in, wire::Writer& out) {
        if (around == nullptr) {
          serve(over, header, in, out);
        } else {
          around(header, [&] { serve(over, header, in, out); });
        }
      },
      *this);
}

void SidePeer::close() {
  ::shutdown(socket_, SHUT_RDWR);
}

void SidePeer::distrust(const char* why) noexcept {
  distrusted_ = why;
  close();
}

void SidePeer::broken(const char* why) {
  close();
  fail(QUENCH_UNAVAILABLE, "{}: {}", other_, why);
}

Sockets::Sockets() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "no sockets: {}", std::strerror(errno));
  }
  host = Descriptor(pair[0]);
  worker = Descriptor(pair[1]);
}

TwoPeers::TwoPeers() {
  Sockets sockets;
  auto host_memory = std::make_unique<wire::OwnMemory>(false);
  auto worker_memory = std::make_unique<wire::OwnMemory>(false);
  Descriptor host_again(::dup(host_memory->descriptor()));
  Descriptor worker_again(::dup(worker_memory->descriptor()));
  host->open(std::move(sockets.host), std::move(host_memory), std::move(worker_again));
  worker->open(std::move(sockets.worker), std::move(worker_memory), std::move(host_again));
  thread_ = std::thread([this] {
    try {
      worker->channel().serve_all();
    } catch (const std::exception& failure) {
      end_ = failure.what();
    }
  });
}

const std::string& TwoPeers::finish() {
  if (thread_.joinable()) {
    host->close();
    thread_.join();
  }
  return end_;
}

}  // namespace quench::test
