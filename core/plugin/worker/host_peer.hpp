// The host, seen from a worker.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/plugin/wire/channel.hpp"
#include "core/plugin/wire/peer.hpp"

namespace quench {

// Called in a worker before each function of a plugin: by tests of what becomes of a call
// whose worker ends in it. nullptr: none.
using ServedCall = void (*)(const char* label, const char* table, const char* function);
extern ServedCall before_served_call;

class HostPeer final : public wire::Peer {
 public:
  // Names of the items, "quantizer x", whose tables have the targets 1, 2, ...; and of the rest.
  void set_labels(std::vector<std::string> items, std::string module);
  // Serves calls on a connection until the host closes it, on this thread.
  void serve_on(Descriptor socket, Descriptor host_memory, Descriptor worker_memory);
  // The connection for threads that serve none.
  void set_aside(Descriptor socket, Descriptor host_memory, Descriptor worker_memory);
  // Says that the plugin is at work, at most a few times a second however often it is called.
  // [thread-safe]
  void give_sign() noexcept;

  wire::Channel& channel() override;
  std::unique_lock<std::recursive_mutex> turn(wire::Channel& channel) override;
  std::string name() const override { return "the host"; }
  void distrust(const char* why) noexcept override;

 private:
  std::unique_ptr<wire::Channel> make_channel(Descriptor socket, Descriptor host_memory,
                                              Descriptor worker_memory);

  // Serves one call; the process ends where it leaves the process changed, as no other call could
  // be trusted then.
  void serve_guarded(wire::Channel& over, const wire::Header& header, wire::Reader& in,
                     wire::Writer& out);

  std::vector<std::string> labels_;
  std::string module_;
  std::unique_ptr<wire::Channel> aside_;
  std::recursive_mutex aside_mutex_;
  std::atomic<std::chrono::steady_clock::time_point> last_sign_{};
};

}  // namespace quench
