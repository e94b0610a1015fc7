// A permutation of 0..n-1 that is computed, not stored: the number of a training step alone
// determines its data.
#pragma once

#include <cstdint>

namespace quench {

class Shuffle {
 public:
  // The permutation of `count` >= 1 numbers for this seed and epoch.
  Shuffle(uint64_t count, uint64_t seed, uint64_t epoch);
  // The image of `index` < count.
  uint64_t operator()(uint64_t index) const;

 private:
  uint64_t round_trip(uint64_t value) const;

  uint64_t count_;
  uint64_t seed_;
  uint64_t epoch_;
  uint32_t half_bits_;  // bits of each half of the Feistel network
};

}  // namespace quench
