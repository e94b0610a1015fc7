// Sums whose bits depend only on their terms.
#pragma once

#include <cstddef>

namespace quench::decoder {

// The float64 sum of each(c) for c in [0, count), always in the same order: eight partial sums,
// which a compiler can keep in vectors, are added one after the other.
template <typename Each>
[[gnu::always_inline]] inline double ordered_sum(size_t count, Each&& each) {
  constexpr size_t kLanes = 8;
  double partial[kLanes] = {};
  size_t c = 0;
  for (; c + kLanes <= count; c += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      partial[lane] += static_cast<double>(each(c + lane));
    }
  }
  for (; c < count; ++c) {
    partial[c % kLanes] += static_cast<double>(each(c));
  }
  double sum = 0;
  for (const double part : partial) {
    sum += part;
  }
  return sum;
}

}  // namespace quench::decoder
