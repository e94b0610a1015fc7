#include "core/plugin/wire/served.hpp"

#include <cstring>

namespace quench::wire {

bool Served::status(quench_status status, const quench_error& error) {
  out.i64(status);
  if (status == QUENCH_OK) {
    out.text(nullptr);
    in.hand_over();
    return true;
  }
  message(error);
  return false;
}

void Served::message(const quench_error& error) {
  out.blob(error.message, strnlen(error.message, sizeof error.message));
}

void Served::put_handed_out() {
  uint64_t count = 0;
  for (const RemoteInterface* interface : in.interfaces()) {
    count += interface->deferred.size();
  }
  out.u64(count);
  for (const RemoteInterface* interface : in.interfaces()) {
    for (uint64_t i = 0; i < interface->deferred.size(); ++i) {
      out.u64(interface->target);
      out.u64(i);
      out.blob(interface->deferred[i].from, interface->deferred[i].bytes);
    }
  }
}

void serve_extension(Served& served, const void* table, const char* id) {
  const TableType* type = table == nullptr ? nullptr : table_of_extension(id);
  if (type == nullptr) {
    served.out.u64(0);
    return;
  }
  uint64_t number = 0;
  while (kTables[number] != type) {
    ++number;
  }
  served.out.u64(number + 1);
  served.out.table(*type, table);
}

}  // namespace quench::wire
