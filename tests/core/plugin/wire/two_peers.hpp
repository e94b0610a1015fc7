// Two sides of a border in one process. The first calls on the test's thread, the second serves on
// one of its own, and both see only the socket and the two memories between them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "core/base/io/descriptor.hpp"
#include "core/plugin/wire/channel.hpp"
#include "core/plugin/wire/peer.hpp"

namespace quench::test {

// One side, with one channel, as its thread sees the other side.
class SidePeer final : public wire::Peer, public wire::Patience {
 public:
  explicit SidePeer(std::string other) : other_(std::move(other)) {}

  void open(Descriptor socket, std::unique_ptr<wire::OwnMemory> own, Descriptor theirs);
  // Ends the connection, as the end of a process does.
  void close();
  // Around each call that is served; nullptr: as it is.
  std::function<void(const wire::Header& header, const std::function<void()>& serve)> around;

  wire::Channel& channel() override { return *channel_; }
  std::unique_lock<std::recursive_mutex> turn(wire::Channel&) override { return {}; }
  std::string name() const override { return other_; }
  void distrust(const char* why) noexcept override;
  // Why the other side is not listened to any more, or "".
  const std::string& distrusted() const { return distrusted_; }

  [[noreturn]] void broken(const char* why) override;

 private:
  std::string other_;
  std::string distrusted_;
  int socket_ = -1;  // the channel's
  std::unique_ptr<wire::Channel> channel_;
};

struct Sockets {
  Sockets();
  Descriptor host;
  Descriptor worker;
};

class TwoPeers {
 public:
  TwoPeers();
  ~TwoPeers() { finish(); }
  TwoPeers(const TwoPeers&) = delete;
  TwoPeers& operator=(const TwoPeers&) = delete;

  // Closes the connection and waits for the second side's thread: why that ended, or "".
  const std::string& finish();

  std::shared_ptr<SidePeer> host = std::make_shared<SidePeer>("the worker");
  std::shared_ptr<SidePeer> worker = std::make_shared<SidePeer>("the host");

 private:
  std::string end_;
  std::thread thread_;
};

}  // namespace quench::test
