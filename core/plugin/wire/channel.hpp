// One thread's connection to the other process: messages on a socket, large values in two memories.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/plugin/wire/body.hpp"
#include "core/plugin/wire/memory.hpp"

namespace quench::wire {

inline constexpr uint16_t kCallMessage = 1;
inline constexpr uint16_t kReplyMessage = 2;
inline constexpr uint16_t kSignMessage = 3;  // the sender is alive; all else of its header is 0
// Calls that are served within one another, each of which takes some of the thread's stack.
inline constexpr int kMostNested = 64;

struct Header {
  uint32_t bytes = 0;  // of the body
  uint16_t kind = 0;
  uint16_t function = 0;
  uint64_t target = 0;
  uint64_t number = 0;
  uint64_t reserved = 0;
};
static_assert(sizeof(Header) == 32);

struct Message {
  Header header;
  std::vector<std::byte> body;
};

class Channel;

// Serves one call: reads `in`, writes the reply's body to `out`.
using Serve = std::function<void(Channel& channel, const Header& header, Reader& in, Writer& out)>;

// What a wait does besides waiting: throws where the other process has ended or must not go on.
class Patience {
 public:
  virtual ~Patience() = default;
  // A call is about to be sent.
  virtual void before_call() {}
  // A call has been sent, and its reply is there. Nests.
  virtual void begin() {}
  virtual void end() {}
  // A call of the other side has arrived and is served, and has been. Nests.
  virtual void pause(const Header& /*call*/) {}
  virtual void resume(const Header& /*call*/) {}
  // The other side has said that it is alive.
  virtual void sign() {}
  // Called every 100 ms of a wait.
  virtual void wait() {}
  // The other side is gone, or what it sent is no message (`why`). Throws.
  [[noreturn]] virtual void broken(const char* why) = 0;
};

// Used by one thread at a time.
class Channel {
 public:
  Channel(Descriptor socket, std::unique_ptr<OwnMemory> own, Descriptor theirs, Serve serve,
          Patience& patience);

  // A call under construction has its large values in this memory.
  OwnMemory& own() { return *own_; }
  const TheirMemory& theirs() const { return theirs_; }

  // Sends a call and waits for its reply; calls that arrive meanwhile are served on this thread.
  // Blobs of the reply are valid until the next message. Throws what Patience throws.
  Message call(uint64_t target, uint16_t function, std::span<const std::byte> body);
  // Says that this side is alive, while the other one waits for it. Throws what Patience throws.
  void sign() { send({0, kSignMessage, 0, 0, 0, 0}, {}); }
  // Serves calls until the other side closes the channel, which returns.
  void serve_all();

 private:
  bool receive(Message& message, bool may_close);
  void send(const Header& header, std::span<const std::byte> body);
  void serve_one(const Message& call);

  Descriptor socket_;
  std::unique_ptr<OwnMemory> own_;
  TheirMemory theirs_;
  Serve serve_;
  Patience& patience_;
  uint64_t calls_ = 0;
  int nested_ = 0;  // calls that are being served
  // Where the stack of own memory goes back to when the next message shows that the last reply has
  // been read.
  uint64_t replied_from_ = kNull;
};

}  // namespace quench::wire
