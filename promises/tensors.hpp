// Small tensors that plugins are tried on.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "promises/promise.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::promises {

// `count` numbers in [-1, 1), the same for the same seed, with 24 bits each, so exact in float.
template <typename T>
std::vector<T> numbers(uint64_t seed, size_t count) {
  std::vector<T> values(count);
  uint64_t state = seed * 2 + 1;
  for (T& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<T>(static_cast<double>(state >> 40) / (1 << 23) - 1);
  }
  return values;
}

template <typename T>
kit::OwnedTensor<T> tensor(std::vector<int64_t> shape, const std::vector<T>& values) {
  kit::OwnedTensor<T> made(std::move(shape));
  made.values() = values;
  return made;
}

inline bool same_bits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}
inline bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// Throws Broken unless both are the same, bit for bit, naming the first element that is not.
template <typename T>
void expect_same(const std::string& what, const std::vector<T>& got, const std::vector<T>& wanted,
                 const char* as) {
  expect(got.size() == wanted.size(), "{} has {} elements {}, wanted {}", what, got.size(), as,
         wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      expect(same_bits(got[i], wanted[i]), "{}[{}] is {} {}, wanted {}", what, i, got[i], as,
             wanted[i]);
    } else {
      expect(got[i] == wanted[i], "{}[{}] is {} {}, wanted {}", what, i, got[i], as, wanted[i]);
    }
  }
}

inline bool is_near(double got, double wanted, double relative, double absolute) {
  const double off = got > wanted ? got - wanted : wanted - got;
  const double size = wanted < 0 ? -wanted : wanted;
  return off <= relative * size + absolute;
}

}  // namespace quench::promises
