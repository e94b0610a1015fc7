#include "core/plugin/calls/table_call.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "core/plugin/table_slots.hpp"
#include "quench/abi/kind/format.h"

namespace quench {

namespace {

const TableSlots* slots_of(const std::string& kind) {
  const auto found = std::ranges::find(kTableSlots, kind, &TableSlots::kind);
  return found == std::end(kTableSlots) ? nullptr : &*found;
}

size_t size_of(const void* table) {
  uint32_t bytes = 0;
  std::memcpy(&bytes, table, sizeof bytes);
  return bytes;
}

// The least that a table has: every function that is not optional.
size_t end_of_required(const TableSlots& known) {
  size_t end = sizeof(uint32_t);
  for (const TableSlot& slot : known.slots) {
    end = std::max(end, slot.optional ? 0 : slot.offset + sizeof(void*));
  }
  return end;
}

bool is_there(const void* table, const TableSlot& slot) {
  void* function = nullptr;
  if (slot.offset + sizeof function > size_of(table)) {
    return false;  // written for an earlier minor
  }
  std::memcpy(&function, static_cast<const char*>(table) + slot.offset, sizeof function);
  return function != nullptr;
}

}  // namespace

std::string plugin_label(const PluginDescription& description) {
  return description.kind + " " + description.id;
}

void throw_status(const std::string& label, const char* function, quench_status status,
                  const quench_error& error) {
  if (status < QUENCH_OK || status > QUENCH_UNAVAILABLE) {
    fail(QUENCH_INTERNAL, "{}: {} returned {}, which is no status", label, function, status);
  }
  const std::string_view message(error.message, strnlen(error.message, sizeof error.message));
  if (message.empty()) {
    fail(status, "{}: {} failed without a message ({})", label, function, status_name(status));
  }
  // What begins with the item's id again says it once.
  const std::string id = label.substr(label.find(' ') + 1) + ": ";
  const std::string_view said = message.starts_with(id) ? message.substr(id.size()) : message;
  fail(status, "{}: {}", label, printable(said, sizeof error.message));
}

std::string table_fault(const std::string& kind, const void* table) {
  if (table == nullptr) {
    return "its table is NULL";
  }
  const TableSlots* known = slots_of(kind);
  if (known == nullptr) {
    return "";
  }
  if (const size_t wanted = end_of_required(*known); size_of(table) < wanted) {
    return fmt::format("its table has struct_size {}, wanted at least {}", size_of(table), wanted);
  }
  std::set<std::string_view> begun;  // groups of functions that are there together
  for (const TableSlot& slot : known->slots) {
    if (slot.group[0] != '\0' && is_there(table, slot)) {
      begun.insert(slot.group);
    }
  }
  if (kind == QUENCH_KIND_FORMAT && begun.empty()) {
    return "its table neither reads nor writes: probe and begin are NULL";
  }
  for (const TableSlot& slot : known->slots) {
    const bool wanted = !slot.optional || begun.contains(slot.group);
    if (wanted && !is_there(table, slot)) {
      return fmt::format("function {} of its table is NULL", slot.name);
    }
  }
  return "";
}

std::vector<std::string> optional_functions(const std::string& kind, const void* table) {
  std::vector<std::string> out;
  for (const TableSlot& slot : slots_of(kind)->slots) {
    if (slot.optional && is_there(table, slot)) {
      out.emplace_back(slot.name);
    }
  }
  return out;
}

}  // namespace quench
