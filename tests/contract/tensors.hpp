// Small tensors and the plugins that a contract suite goes through.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quench/abi/module.h"
#include "quench/kit/tensor.hpp"

namespace quench::test {

// The items of a ":"-separated list of libraries, all of that kind.
std::vector<const quench_item*> items_of(const char* libraries, const char* kind);

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

}  // namespace quench::test
