#include "core/arithmetic/shuffle.hpp"

#include <bit>

#include "core/arithmetic/philox.hpp"

namespace quench {

namespace {

// Four rounds of a Feistel network with a strong round function give a pseudorandom permutation
// (Luby and Rackoff 1988); two more cost nothing here.
constexpr uint32_t kRounds = 6;

}  // namespace

Shuffle::Shuffle(uint64_t count, uint64_t seed, uint64_t epoch)
    : count_(count), seed_(seed), epoch_(epoch) {
  const uint32_t bits = count > 1 ? static_cast<uint32_t>(std::bit_width(count - 1)) : 1;
  half_bits_ = (bits + 1) / 2;
}

uint64_t Shuffle::round_trip(uint64_t value) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = value >> half_bits_;
  uint64_t right = value & mask;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const PhiloxCounter words = philox4x32(
        {static_cast<uint32_t>(right), static_cast<uint32_t>(right >> 32),
         static_cast<uint32_t>(epoch_), round | static_cast<uint32_t>(epoch_ >> 32) << 8},
        {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
    const uint64_t random = words[0] | static_cast<uint64_t>(words[1]) << 32;
    const uint64_t mixed = left ^ (random & mask);
    left = right;
    right = mixed;
  }
  return left << half_bits_ | right;
}

// The network permutes a power of four that is less than four times `count`; a value outside goes
// through again until it falls inside.
uint64_t Shuffle::operator()(uint64_t index) const {
  do {
    index = round_trip(index);
  } while (index >= count_);
  return index;
}

}  // namespace quench
