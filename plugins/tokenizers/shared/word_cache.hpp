// The ids of words met before, per thread and bounded. It only remembers what a model computed, so
// results do not depend on it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace quench::tokenizers {

class WordCache {
 public:
  static constexpr size_t kLongestWordBytes = 26;
  static constexpr size_t kMostIds = 8;

  // The calling thread's cache; all models share it and are told apart by `owner`.
  static WordCache& of_thread() {
    thread_local WordCache cache;
    return cache;
  }

  // Appends the ids of `word` and returns true if they are known. At most kLongestWordBytes.
  bool find(uint32_t owner, std::string_view word, std::vector<int32_t>& ids) const {
    const Slot& slot = slots_[place(owner, word)];
    if (slot.owner != owner || std::string_view(slot.word.data(), slot.length) != word) {
      return false;
    }
    ids.insert(ids.end(), slot.ids.begin(), slot.ids.begin() + slot.count);
    return true;
  }

  // Replaces whatever is in the word's place; more than kMostIds are not kept.
  void store(uint32_t owner, std::string_view word, const int32_t* ids, size_t count) {
    if (count > kMostIds) {
      return;
    }
    Slot& slot = slots_[place(owner, word)];
    slot.owner = owner;
    slot.length = static_cast<uint8_t>(word.size());
    slot.count = static_cast<uint8_t>(count);
    word.copy(slot.word.data(), word.size());
    std::copy_n(ids, count, slot.ids.data());
  }

 private:
  // One cache line. Owner 0 means none.
  struct alignas(64) Slot {
    uint32_t owner = 0;
    uint8_t length = 0;
    uint8_t count = 0;
    std::array<char, kLongestWordBytes> word{};
    std::array<int32_t, kMostIds> ids{};
  };
  static_assert(sizeof(Slot) == 64);
  static constexpr size_t kSlots = size_t{1} << 15;

  WordCache() : slots_(std::make_unique<Slot[]>(kSlots)) {}

  static size_t place(uint32_t owner, std::string_view word) {
    uint64_t hash = owner + 0x9E3779B97F4A7C15U * (word.size() + 1);
    const char* data = word.data();
    size_t left = word.size();
    for (; left > 8; left -= 8, data += 8) {
      uint64_t part = 0;
      std::memcpy(&part, data, 8);
      hash = (hash ^ part) * 0xBF58476D1CE4E5B9U;
      hash ^= hash >> 32;
    }
    uint64_t part = 0;
    if (left > 0) {
      std::memcpy(&part, data, left);
    }
    hash = (hash ^ part) * 0xBF58476D1CE4E5B9U;
    hash = (hash ^ hash >> 32) * 0x94D049BB133111EBU;
    return hash >> 49;
  }
  static_assert(kSlots == size_t{1} << (64 - 49));

  std::unique_ptr<Slot[]> slots_;
};

}  // namespace quench::tokenizers
