#include "core/plugin/wire/channel.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "tests/core/plugin/wire/two_peers.hpp"
#include "tests/support/throws.hpp"

using namespace quench::wire;
using quench::Descriptor;
using quench::test::code_of;
using quench::test::message_of;
using quench::test::Sockets;

namespace {

// Throws whatever happens; `told` counts the turns.
struct Turns final : Patience {
  void begin() override { ++waits; }
  void end() override { --waits; }
  void sign() override { ++signs; }
  void broken(const char* why) override { quench::fail(QUENCH_UNAVAILABLE, "{}", why); }
  int waits = 0;
  int signs = 0;
};

constexpr uint16_t kEcho = 1;    // the bytes that came
constexpr uint16_t kNested = 2;  // a depth: the number of calls it took
constexpr uint16_t kLarge = 3;   // a number of bytes: that many
constexpr uint16_t kThrows = 4;

// Both sides serve the same functions.
void serve(Channel& over, const Header& header, Reader& in, Writer& out) {
  if (header.function == kEcho) {
    const Blob blob = in.blob();
    out.blob(blob.data, blob.bytes);
  } else if (header.function == kNested) {
    const uint64_t depth = in.u64();
    uint64_t calls = 1;
    if (depth > 0) {
      Writer call(over.own());
      call.u64(depth - 1);
      const std::string large(2000, static_cast<char>(depth));
      call.blob(large.data(), large.size());
      const Message reply = over.call(header.target, kNested, call.bytes());
      Reader answer(reply.body, &over.theirs());
      calls += answer.u64();
      answer.finish();
    }
    in.blob();
    out.u64(calls);
  } else if (header.function == kLarge) {
    const std::vector<char> bytes(in.u64(), 'z');
    out.blob(bytes.data(), bytes.size());
  } else {
    quench::fail(QUENCH_DATA_LOSS, "a call that cannot be read");
  }
  in.finish();
}

struct Two {
  Two() {
    Sockets sockets;
    auto first = std::make_unique<OwnMemory>(false);
    auto second = std::make_unique<OwnMemory>(false);
    Descriptor first_again(::dup(first->descriptor()));
    Descriptor second_again(::dup(second->descriptor()));
    socket = sockets.host.get();
    caller = std::make_unique<Channel>(std::move(sockets.host), std::move(first),
                                       std::move(second_again), serve, turns);
    thread = std::thread([this, end = std::move(sockets.worker), own = std::move(second),
                          theirs = std::move(first_again)]() mutable {
      Turns others;
      Channel channel(std::move(end), std::move(own), std::move(theirs), serve, others);
      try {
        channel.serve_all();
      } catch (const quench::Error& failure) {
        failed = failure.what();
      }
      left = channel.own().top();
    });
  }
  ~Two() { finish(); }

  void finish() {
    if (thread.joinable()) {
      ::shutdown(socket, SHUT_RDWR);
      thread.join();
    }
  }
  std::string echo(const std::string& text) {
    const uint64_t from = caller->own().top();
    Writer call(caller->own());
    call.blob(text.data(), text.size());
    const Message reply = caller->call(5, kEcho, call.bytes());
    Reader in(reply.body, &caller->theirs());
    const Blob blob = in.blob();
    in.finish();
    caller->own().reset(from);
    return {reinterpret_cast<const char*>(blob.data), blob.bytes};
  }

  Turns turns;
  int socket = -1;
  std::unique_ptr<Channel> caller;
  std::string failed;  // of the thread, once it has ended
  uint64_t left = 0;
  std::thread thread;
};

// A channel whose other side is written by hand.
struct ByHand {
  ByHand() {
    auto own = std::make_unique<OwnMemory>(false);
    Descriptor again(::dup(own->descriptor()));
    other = std::move(sockets.worker);
    channel = std::make_unique<Channel>(std::move(sockets.host), std::move(own), std::move(again),
                                        serve, turns);
  }
  void write(const Header& header, size_t body_bytes) {
    std::vector<std::byte> bytes(sizeof header + body_bytes);
    std::memcpy(bytes.data(), &header, sizeof header);
    REQUIRE(::send(other.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }
  std::string message_of_call() {
    return message_of([&] { channel->call(5, kEcho, {}); });
  }

  Sockets sockets;
  Descriptor other;
  Turns turns;
  std::unique_ptr<Channel> channel;
};

}  // namespace

TEST_CASE("channel: a call brings a reply", "[wire]") {
  Two two;
  CHECK(two.echo("").empty());
  CHECK(two.echo("small") == "small");
  const std::string large(100'000, 'l');
  CHECK(two.echo(large) == large);
  two.finish();
  CHECK(two.failed.empty());
  CHECK(two.turns.waits == 0);
}

TEST_CASE("channel: calls nest both ways", "[wire]") {
  Two two;
  for (const uint64_t depth : {0, 1, 20, 20}) {
    Writer call(two.caller->own());
    call.u64(depth);
    call.blob(nullptr, 0);
    const Message reply = two.caller->call(5, kNested, call.bytes());
    Reader in(reply.body, &two.caller->theirs());
    CHECK(in.u64() == depth + 1);
    in.finish();
    CHECK(two.turns.waits == 0);
  }
  CHECK(two.echo("and goes on") == "and goes on");
  two.finish();
  CHECK(two.failed.empty());
}

TEST_CASE("channel: memory returns to its level after calls", "[wire]") {
  Two two;
  const std::string large(1 << 20, 'l');
  for (int i = 0; i < 20; ++i) {
    CHECK(two.echo(large).size() == large.size());
    CHECK(two.caller->own().top() == 0);
  }
  two.echo("small");  // with this one the other side knows that the last reply has been read
  two.finish();
  CHECK(two.left == 0);
}

TEST_CASE("channel: calls that nest without end are refused", "[wire][bad]") {
  Two two;
  Writer call(two.caller->own());
  call.u64(100'000);
  call.blob(nullptr, 0);
  CHECK(code_of([&] { two.caller->call(5, kNested, call.bytes()); }) == QUENCH_UNAVAILABLE);
  two.finish();
}

TEST_CASE("channel: a call that cannot be read ends the side that sent it no reply",
          "[wire][bad]") {
  Two two;
  CHECK(message_of([&] { two.caller->call(5, kThrows, {}); }) == "the connection is closed");
  two.finish();
  CHECK(two.failed == "a call that cannot be read");
}

TEST_CASE("channel: a call that is longer than a message may be is not sent", "[wire][bad]") {
  Two two;
  const std::vector<std::byte> body(kMaxBody + 8);
  CHECK(code_of([&] { two.caller->call(5, kEcho, body); }) == QUENCH_RESOURCE_EXHAUSTED);
  CHECK(two.echo("still there") == "still there");
}

TEST_CASE("channel: replies to other calls are refused", "[wire][bad]") {
  const Header header =
      GENERATE(Header{0, kReplyMessage, kEcho, 5, 2, 0},  // its number
               Header{0, kReplyMessage, kEcho, 5, 0, 0}, Header{0, kReplyMessage, kEcho, 6, 1, 0},
               Header{0, kReplyMessage, kNested, 5, 1, 0});
  ByHand hand;
  hand.write(header, 0);
  CHECK(hand.message_of_call() == "a reply to another call");
}

TEST_CASE("channel: headers that are none are refused", "[wire][bad]") {
  const Header header = GENERATE(Header{0, kReplyMessage, kEcho, 5, 1, 1},  // reserved
                                 Header{0, kReplyMessage, kEcho, 5, 1, uint64_t{1} << 63},
                                 Header{0, 0, kEcho, 5, 1, 0}, Header{0, 3, kEcho, 5, 1, 0},
                                 Header{4, kReplyMessage, kEcho, 5, 1, 0},
                                 Header{kMaxBody + 8, kReplyMessage, kEcho, 5, 1, 0},
                                 Header{UINT32_MAX - 7, kReplyMessage, kEcho, 5, 1, 0});
  ByHand hand;
  hand.write(header, 0);
  CHECK(hand.message_of_call() == "a message without a header");
}

TEST_CASE("channel: a sign of life is told and is no message", "[wire]") {
  ByHand hand;
  const Header sign{0, kSignMessage, 0, 0, 0, 0};
  hand.write(sign, 0);
  hand.write(sign, 0);
  hand.write({0, kReplyMessage, kEcho, 5, 1, 0}, 0);
  CHECK(hand.channel->call(5, kEcho, {}).body.empty());
  CHECK(hand.turns.signs == 2);
  hand.write({8, kSignMessage, 0, 0, 0, 0}, 8);
  CHECK(hand.message_of_call() == "a message without a header");
}

TEST_CASE("channel: a reply without a call is refused", "[wire][bad]") {
  ByHand hand;
  hand.write({0, kReplyMessage, kEcho, 5, 1, 0}, 0);
  CHECK(message_of([&] { hand.channel->serve_all(); }) == "a reply that nobody waits for");
}

TEST_CASE("channel: a connection that closes within a message is broken", "[wire][bad]") {
  ByHand hand;
  SECTION("within the header") {
    REQUIRE(::send(hand.other.get(), "begin", 5, MSG_NOSIGNAL) == 5);
  }
  SECTION("within the body") {
    hand.write({64, kCallMessage, kEcho, 5, 1, 0}, 32);
  }
  hand.other.reset();
  CHECK(message_of([&] { hand.channel->serve_all(); }) == "the connection is closed");
}

TEST_CASE("channel: one that closes between messages has ended in order", "[wire]") {
  ByHand hand;
  hand.other.reset();
  hand.channel->serve_all();
  CHECK(hand.message_of_call() == "the connection is closed");
}
