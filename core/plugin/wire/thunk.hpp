// Function pointers of the C tables whose bodies are stubs.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

namespace quench::wire {

class RemoteItem;

template <typename Pointer, typename Stub>
struct Thunk;
template <typename Result, typename... Arguments, typename Stub>
struct Thunk<Result (*)(Arguments...) noexcept, Stub> {
  static Result call(Arguments... arguments) noexcept { return Stub::run(arguments...); }
};

template <typename Pointer>
struct Arguments;
template <typename Result, typename... List>
struct Arguments<Result (*)(List...) noexcept> {
  using Types = std::tuple<List...>;
};
template <typename Pointer>
using ArgumentsOf = typename Arguments<Pointer>::Types;

// Of a function without an object, one for each slot: the slot says which plugin it belongs to.
RemoteItem* item_in_slot(size_t slot);
template <typename Pointer, typename Stub, size_t Slot>
struct SlotThunk;
template <typename Result, typename... Arguments, typename Stub, size_t Slot>
struct SlotThunk<Result (*)(Arguments...) noexcept, Stub, Slot> {
  static Result call(Arguments... arguments) noexcept {
    return Stub::run(item_in_slot(Slot), arguments...);
  }
};
template <typename Pointer, typename Stub, size_t... Slots>
constexpr auto thunks(std::index_sequence<Slots...>) {
  return std::array<Pointer, sizeof...(Slots)>{&SlotThunk<Pointer, Stub, Slots>::call...};
}

// 1 << place where the member is there, within what its writer knows.
template <typename Table, typename Member>
uint64_t bit(const Table& table, Member Table::*member, unsigned place) {
  const auto* at = reinterpret_cast<const char*>(&(table.*member));
  const auto* begin = reinterpret_cast<const char*>(&table);
  const bool known = static_cast<size_t>(at - begin) + sizeof(Member) <= table.struct_size;
  return known && table.*member != nullptr ? uint64_t{1} << place : 0;
}

}  // namespace quench::wire
