// Which pairs of ids merge, in what order, into what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace quench::tokenizers {

struct Merge {
  static constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();
  // Lower ranks merge first.
  uint32_t rank = kNever;
  int32_t id = -1;
};

// A hash table with open addressing, at most half full. Ids are not negative.
class MergeTable {
 public:
  explicit MergeTable(size_t merges) {
    size_t capacity = 16;
    while (capacity < 2 * merges) {
      capacity *= 2;
    }
    slots_.resize(capacity);
    mask_ = capacity - 1;
  }

  // A pair that is there already gets the new merge. At most as many pairs as announced.
  void insert(int32_t left, int32_t right, Merge merge) {
    const uint64_t key = pair(left, right);
    size_t at = mix(key) & mask_;
    while (slots_[at].key != kEmpty && slots_[at].key != key) {
      at = (at + 1) & mask_;
    }
    slots_[at] = {key, merge};
  }

  // Rank kNever where the pair does not merge.
  Merge find(int32_t left, int32_t right) const {
    const uint64_t key = pair(left, right);
    for (size_t at = mix(key) & mask_;; at = (at + 1) & mask_) {
      if (slots_[at].key == key) {
        return slots_[at].merge;
      }
      if (slots_[at].key == kEmpty) {
        return {};
      }
    }
  }

 private:
  static constexpr uint64_t kEmpty = std::numeric_limits<uint64_t>::max();
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge;
  };

  static uint64_t pair(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  static uint64_t mix(uint64_t key) {
    key ^= key >> 32;
    key *= 0x9E3779B97F4A7C15U;
    key ^= key >> 29;
    key *= 0xBF58476D1CE4E5B9U;
    return key ^ key >> 32;
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
};

}  // namespace quench::tokenizers
