// One call of the other process, as this one serves it.
#pragma once

#include <memory>

#include "core/plugin/wire/crossing.hpp"
#include "quench/abi/status.h"

namespace quench::wire {

struct Served {
  Served(Peer& from, Channel& over, Exports::Table called, uint64_t number, Reader& reader,
         Writer& writer)
      : peer(from),
        channel(over),
        entry(std::move(called)),
        target(number),
        in(from.shared_from_this(), reader, *keep, &over.own()),
        out(from, writer) {}

  template <typename Table>
  const Table& table() const {
    return *static_cast<const Table*>(entry.table);
  }
  // The status and its message; false where no outputs follow.
  bool status(quench_status status, const quench_error& error);
  void message(const quench_error& error);
  // What interfaces of this call had lent memory for.
  void put_handed_out();

  Peer& peer;
  Channel& channel;
  Exports::Table entry;
  uint64_t target;
  std::shared_ptr<Keep> keep = std::make_shared<Keep>();  // of the arguments
  Receiving in;
  Sending out;
};

// Answers a request for an extension.
void serve_extension(Served& served, const void* table, const char* id);

}  // namespace quench::wire
