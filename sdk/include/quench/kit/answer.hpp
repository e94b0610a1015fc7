// Structs that go to a host of another minor, or come from one.
#pragma once

#include <algorithm>
#include <cstring>

namespace quench::kit {

// Fills a struct of the host's as far as the host knows it: one of an earlier minor has fewer
// members, and none of the memory behind them. `to`: with the struct_size that the host has set.
template <typename S>
void answer(S* to, S value) {
  value.struct_size = to->struct_size;
  std::memcpy(static_cast<void*>(to), &value, std::min<size_t>(to->struct_size, sizeof(S)));
}

// A struct of the host's, of any minor: members that it does not have are 0.
template <typename S>
S whole(const S& from) {
  S out{};
  std::memcpy(static_cast<void*>(&out), &from, std::min<size_t>(from.struct_size, sizeof(S)));
  out.struct_size = sizeof(S);
  return out;
}

}  // namespace quench::kit
