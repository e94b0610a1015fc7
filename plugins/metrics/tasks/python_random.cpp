#include "metrics/tasks/python_random.hpp"

#include <bit>
#include <cmath>
#include <numeric>
#include <set>

namespace quench::tasks {

// MT19937, seeded by init_by_array with the seed as its only word (Matsumoto and Nishimura 1998).
PythonRandom::PythonRandom(uint32_t seed) {
  constexpr size_t kWords = 624;
  state_[0] = 19650218u;
  for (uint32_t i = 1; i < kWords; ++i) {
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  }
  size_t i = 1;
  const auto step = [&] {
    if (++i == kWords) {
      state_[0] = state_[kWords - 1];
      i = 1;
    }
  };
  for (size_t k = 0; k < kWords; ++k) {
    state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1664525u)) + seed;
    step();
  }
  for (size_t k = 0; k + 1 < kWords; ++k) {
    state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1566083941u)) -
                static_cast<uint32_t>(i);
    step();
  }
  state_[0] = 0x80000000u;
}

uint32_t PythonRandom::next() {
  constexpr size_t kWords = 624;
  if (at_ == kWords) {
    for (size_t i = 0; i < kWords; ++i) {
      const uint32_t y = (state_[i] & 0x80000000u) | (state_[(i + 1) % kWords] & 0x7fffffffu);
      state_[i] = state_[(i + 397) % kWords] ^ (y >> 1) ^ ((y & 1u) != 0 ? 0x9908b0dfu : 0u);
    }
    at_ = 0;
  }
  uint32_t y = state_[at_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

uint64_t PythonRandom::below(uint64_t limit) {
  const int bits = std::bit_width(limit);
  for (;;) {
    uint64_t value = 0;
    if (bits <= 32) {
      value = next() >> (32 - bits);
    } else {
      value = next();
      value |= static_cast<uint64_t>(next() >> (64 - bits)) << 32;
    }
    if (value < limit) {
      return value;
    }
  }
}

std::vector<size_t> PythonRandom::sample(size_t count, size_t chosen) {
  double set_size = 21;
  if (chosen > 5) {
    set_size += std::pow(4.0, std::ceil(std::log(static_cast<double>(chosen) * 3) / std::log(4.0)));
  }
  std::vector<size_t> out;
  if (static_cast<double>(count) <= set_size) {
    std::vector<size_t> pool(count);
    std::iota(pool.begin(), pool.end(), size_t{0});
    for (size_t i = 0; i < chosen; ++i) {
      const auto at = static_cast<size_t>(below(count - i));
      out.push_back(pool[at]);
      pool[at] = pool[count - i - 1];
    }
    return out;
  }
  std::set<size_t> taken;
  while (out.size() < chosen) {
    const auto at = static_cast<size_t>(below(count));
    if (taken.insert(at).second) {
      out.push_back(at);
    }
  }
  return out;
}

}  // namespace quench::tasks
