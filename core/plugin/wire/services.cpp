#include "core/plugin/wire/services.hpp"

#include <utility>

#include "core/error.hpp"
#include "core/plugin/wire/peer.hpp"

namespace quench::wire {

namespace {

std::shared_ptr<Peer>& the_host() {
  static auto* peer = new std::shared_ptr<Peer>;  // outlives static destructors
  return *peer;
}

thread_local const quench_host* served = nullptr;

}  // namespace

void set_host_peer(std::shared_ptr<Peer> peer) {
  the_host() = std::move(peer);
}

std::shared_ptr<Peer> host_peer() {
  return the_host();
}

ServedHost::ServedHost(const quench_host* host) : outer_(std::exchange(served, host)) {}

ServedHost::~ServedHost() {
  served = outer_;
}

const quench_host* served_host() {
  return served;
}

const void* service_of_served_host(const char* id) {
  const void* table = served == nullptr ? nullptr : served->service(served, id);
  if (table == nullptr) {
    fail(QUENCH_FAILED_PRECONDITION, "there is no service {} here", id);
  }
  return table;
}

}  // namespace quench::wire
