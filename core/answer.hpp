// Structs that go to, or come from, a module of another minor.
#pragma once

#include <algorithm>
#include <cstring>

#include "core/error.hpp"

namespace quench {

// Fills the struct as far as the caller knows it: one of another minor has fewer members, and none
// of the memory behind them, or more, which are left. `to`: with the struct_size that the caller
// has set; INVALID_ARGUMENT where that is 0.
template <typename S>
void answer_into(S& to, S value) {
  if (to.struct_size == 0) {
    fail(QUENCH_INVALID_ARGUMENT, "the struct that the answer goes to has the struct_size 0");
  }
  value.struct_size = to.struct_size;
  std::memcpy(&to, &value, std::min<size_t>(to.struct_size, sizeof(S)));
}

// A struct of any version: members that its writer does not know are zero.
template <typename S>
S whole(const S* from) {
  S out{};
  const auto bytes = std::min<size_t>(from->struct_size, sizeof(S));
  std::memcpy(&out, from, bytes);
  out.struct_size = sizeof(S);
  return out;
}

}  // namespace quench
