#include "core/plugin/wire/channel.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "core/error.hpp"

namespace quench::wire {

namespace {

constexpr int kSliceMs = 100;

// How long a wait stays awake before it sleeps. Waking an idle processor takes some 35 us on a
// virtual machine, twice for a call, where the call itself takes less than 10; a wait that sleeps
// in the end has lost this much of its thread's time.
constexpr std::chrono::microseconds kAwake{50};

}  // namespace

Channel::Channel(Descriptor socket, std::unique_ptr<OwnMemory> own, Descriptor theirs, Serve serve,
                 Patience& patience)
    : socket_(std::move(socket)),
      own_(std::move(own)),
      theirs_(std::move(theirs)),
      serve_(std::move(serve)),
      patience_(patience) {}

void Channel::send(const Header& header, std::span<const std::byte> body) {
  iovec parts[] = {{const_cast<Header*>(&header), sizeof header},
                   {const_cast<std::byte*>(body.data()), body.size()}};
  size_t first = 0;
  while (first < 2) {
    msghdr message{};
    message.msg_iov = parts + first;
    message.msg_iovlen = 2 - first;
    const ssize_t sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent < 0) {
      patience_.broken("the connection is closed");
    }
    auto left = static_cast<size_t>(sent);
    while (first < 2 && left >= parts[first].iov_len) {
      left -= parts[first++].iov_len;
    }
    if (first < 2) {
      parts[first].iov_base = static_cast<std::byte*>(parts[first].iov_base) + left;
      parts[first].iov_len -= left;
    }
  }
}

// False where the channel was closed between two messages and that may be.
bool Channel::receive(Message& message, bool may_close) {
  using Clock = std::chrono::steady_clock;
  const auto fill = [&](void* to, size_t bytes, bool begins) {
    auto* at = static_cast<std::byte*>(to);
    const Clock::time_point awake = Clock::now() + (begins ? kAwake : kAwake.zero());
    while (bytes > 0) {
      const ssize_t got = recv(socket_.get(), at, bytes, MSG_DONTWAIT);
      if (got > 0) {
        at += got;
        bytes -= static_cast<size_t>(got);
        begins = false;
      } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        if (begins && may_close) {
          return false;
        }
        patience_.broken("the connection is closed");
      } else if (Clock::now() < awake) {
        sched_yield();  // the other side gets the processor where there is only one for both
      } else {
        pollfd wait{socket_.get(), POLLIN, 0};
        if (poll(&wait, 1, kSliceMs) == 0) {
          patience_.wait();
        }
      }
    }
    return true;
  };
  const Header& header = message.header;
  constexpr Header kSign{0, kSignMessage, 0, 0, 0, 0};
  while (true) {
    if (!fill(&message.header, sizeof message.header, true)) {
      return false;
    }
    if (std::memcmp(&header, &kSign, sizeof kSign) != 0) {
      break;
    }
    patience_.sign();
  }
  if (header.bytes > kMaxBody || header.bytes % 8 != 0 || header.reserved != 0 ||
      (header.kind != kCallMessage && header.kind != kReplyMessage)) {
    patience_.broken("a message without a header");
  }
  message.body.resize(header.bytes);
  fill(message.body.data(), header.bytes, false);
  if (replied_from_ != kNull) {
    own_->reset(std::exchange(replied_from_, kNull));
  }
  return true;
}

void Channel::serve_one(const Message& call) {
  if (nested_ == kMostNested) {
    patience_.broken("calls nest without end");
  }
  ++nested_;
  patience_.pause(call.header);
  const uint64_t from = own_->top();
  Reader in(call.body, &theirs_);
  Writer out(*own_);
  std::string fault;
  try {
    serve_(*this, call.header, in, out);
    if (out.bytes().size() > kMaxBody) {
      fault = "a reply is longer than a message may be";
    }
  } catch (const std::exception& failure) {
    fault = failure.what();
  }
  if (!fault.empty()) {
    patience_.broken(fault.c_str());
  }
  send({static_cast<uint32_t>(out.bytes().size()), kReplyMessage, call.header.function,
        call.header.target, call.header.number, 0},
       out.bytes());
  patience_.resume(call.header);
  --nested_;
  replied_from_ = from;
}

Message Channel::call(uint64_t target, uint16_t function, std::span<const std::byte> body) {
  if (body.size() > kMaxBody) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "a call of {} bytes between processes, at most {} are sent",
         body.size(), kMaxBody);
  }
  const uint64_t number = ++calls_;
  patience_.before_call();
  send({static_cast<uint32_t>(body.size()), kCallMessage, function, target, number, 0}, body);
  patience_.begin();
  Message message;
  while (true) {
    receive(message, false);
    if (message.header.kind == kReplyMessage) {
      patience_.end();
      if (message.header.number != number || message.header.function != function ||
          message.header.target != target) {
        patience_.broken("a reply to another call");
      }
      return message;
    }
    serve_one(message);
  }
}

void Channel::serve_all() {
  Message message;
  while (receive(message, true)) {
    if (message.header.kind != kCallMessage) {
      patience_.broken("a reply that nobody waits for");
    }
    serve_one(message);
  }
}

}  // namespace quench::wire
