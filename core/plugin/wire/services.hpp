// The host's services, on both sides of the border.
#pragma once

#include <memory>

#include "quench/abi/host.h"

namespace quench::wire {

class Peer;

// In a worker: the host, and its services of an id (nullptr: not one that crosses).
void set_host_peer(std::shared_ptr<Peer> peer);
std::shared_ptr<Peer> host_peer();
const void* remote_service(const char* id);

// In the host: what serves a module's calls of services, on this thread.
class ServedHost {
 public:
  explicit ServedHost(const quench_host* host);
  ~ServedHost();
  ServedHost(const ServedHost&) = delete;
  ServedHost& operator=(const ServedHost&) = delete;

 private:
  const quench_host* outer_;
};
const quench_host* served_host();

// Throws Error(FAILED_PRECONDITION) where this host has no such service.
const void* service_of_served_host(const char* id);

template <typename Table>
const Table& served_service(const char* id) {
  return *static_cast<const Table*>(service_of_served_host(id));
}

}  // namespace quench::wire
