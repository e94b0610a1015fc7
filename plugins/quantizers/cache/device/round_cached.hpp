// Rounding of keys or values on a device: a thread takes a group of those that share a scale, in
// the order of CacheRounding, whose bits these are.
#pragma once

#include <cmath>
#include <cstdint>

#include "quantizers/cache/cache_range.hpp"
#include "quantizers/inputs/value_rule.hpp"
#include "shared/cuda/for_each.hpp"

namespace quench::quantizers {

// Consecutive tokens.
struct TokenGroup {
  int64_t first;
  int64_t count;
};

// In place, of values [tokens, channels] in C order, a channel being one of a head.
template <typename T>
struct RoundCached {
  T* values;
  // Each channel of each is a group; or null: `size` consecutive numbers of one token are.
  const TokenGroup* tokens;
  int64_t size;
  int64_t channels;
  CacheRange range;
  ValueRule rule;
  int32_t* refused;  // becomes 1 if a value is not finite, before or after

  QUENCH_KERNEL void operator()(int64_t group) const {
    if (tokens == nullptr) {
      round(values + group * size, size, 1);
      return;
    }
    const TokenGroup own = tokens[group / channels];
    round(values + own.first * channels + group % channels, own.count, channels);
  }

 private:
  QUENCH_KERNEL void round(T* first, int64_t count, int64_t stride) const {
    double least = first[0];
    double largest = least;
    for (int64_t i = 0; i < count; ++i) {
      const double value = first[i * stride];
      if (!std::isfinite(value)) {
        *refused = 1;
      }
      least = value < least ? value : least;
      largest = value > largest ? value : largest;
    }
    rule.with([&](const auto& own) {
      round_values(
          own, count, range.of(least, largest),
          [&](int64_t i) { return static_cast<double>(first[i * stride]); },
          [&](int64_t i, double rounded) {
            if (!std::isfinite(rounded)) {
              *refused = 1;
            }
            first[i * stride] = static_cast<T>(rounded);
          });
    });
  }
};

}  // namespace quench::quantizers
