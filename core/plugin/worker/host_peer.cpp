#include "core/plugin/worker/host_peer.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "core/error.hpp"
#include "core/plugin/calls/process_state.hpp"

namespace quench {

ServedCall before_served_call = nullptr;

namespace {

thread_local wire::Channel* serving = nullptr;

// A worker without its host has nothing to do.
class Orphan final : public wire::Patience {
 public:
  void broken(const char* why) override {
    std::fprintf(stderr, "quench worker: %s\n", why);
    _exit(4);
  }
};

Orphan& orphan() {
  static auto* one = new Orphan;
  return *one;
}

}  // namespace

std::unique_ptr<wire::Channel> HostPeer::make_channel(Descriptor socket, Descriptor host_memory,
                                                      Descriptor worker_memory) {
  return std::make_unique<wire::Channel>(
      std::move(socket), std::make_unique<wire::OwnMemory>(std::move(worker_memory)),
      std::move(host_memory),
      [this](wire::Channel& over, const wire::Header& header, wire::Reader& in, wire::Writer& out) {
        serve_guarded(over, header, in, out);
      },
      orphan());
}

void HostPeer::set_labels(std::vector<std::string> items, std::string module) {
  labels_ = std::move(items);
  module_ = std::move(module);
}

void HostPeer::serve_guarded(wire::Channel& over, const wire::Header& header, wire::Reader& in,
                             wire::Writer& out) {
  const wire::Exports::Table called = exports().table(header.target);
  const std::string& label =
      header.target >= 1 && header.target <= labels_.size() ? labels_[header.target - 1] : module_;
  const char* function =
      header.function < called.type->functions ? called.type->names[header.function] : "?";
  if (before_served_call != nullptr) {
    before_served_call(label.c_str(), called.type->name, function);
  }
  serve(over, header, in, out);
  if (const std::string changes = process_state_changes(); !changes.empty()) {
    fail(QUENCH_INTERNAL, "{}: {}: {}", label, function, changes);
  }
}

void HostPeer::serve_on(Descriptor socket, Descriptor host_memory, Descriptor worker_memory) {
  const std::unique_ptr<wire::Channel> channel =
      make_channel(std::move(socket), std::move(host_memory), std::move(worker_memory));
  serving = channel.get();
  channel->serve_all();
  serving = nullptr;
}

void HostPeer::set_aside(Descriptor socket, Descriptor host_memory, Descriptor worker_memory) {
  aside_ = make_channel(std::move(socket), std::move(host_memory), std::move(worker_memory));
}

wire::Channel& HostPeer::channel() {
  if (serving != nullptr) {
    return *serving;
  }
  if (aside_ == nullptr) {
    fail(QUENCH_FAILED_PRECONDITION, "the host cannot be called before the first call of it");
  }
  return *aside_;
}

std::unique_lock<std::recursive_mutex> HostPeer::turn(wire::Channel& channel) {
  return &channel == aside_.get() ? std::unique_lock(aside_mutex_)
                                  : std::unique_lock<std::recursive_mutex>();
}

void HostPeer::give_sign() noexcept {
  constexpr std::chrono::milliseconds kBetweenSigns{200};
  const auto now = std::chrono::steady_clock::now();
  auto last = last_sign_.load();
  if (now - last < kBetweenSigns || !last_sign_.compare_exchange_strong(last, now)) {
    return;
  }
  if (serving != nullptr) {
    serving->sign();
    return;
  }
  // Where another thread calls the host meanwhile, its call is the sign.
  const std::unique_lock lock(aside_mutex_, std::try_to_lock);
  if (lock && aside_ != nullptr) {
    aside_->sign();
  }
}

void HostPeer::distrust(const char* why) noexcept {
  orphan().broken(why);
}

}  // namespace quench
