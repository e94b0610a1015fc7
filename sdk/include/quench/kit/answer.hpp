// Answers that go into a struct of the host's.
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

}  // namespace quench::kit
