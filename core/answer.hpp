// Answers that go into a struct of the caller's.
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

}  // namespace quench
